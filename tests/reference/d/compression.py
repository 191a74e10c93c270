"""Edge-to-cloud compression, paper D: "Online Orthogonal Dictionary Learning Based on
Frank-Wolfe Method" (Xue, Lau).

Section II-B, Example 1, four steps, and the experiment of Section V-C. Per
time slot t and sample y of Y_t: code on the edge; decide what to send; learn D_t from D_{t-1} and
Y_t (Algorithm 2); the cloud recovers y_hat = c D_cloud.

Letters: the paper's D is D transposed here (atoms in rows), its y_t^j is row j of Y_t, its x_t^j
the row c. D_cloud is the cloud's dictionary and the edge's copy of it.

Readings:
- Step 1 codes with the edge's D_{t-1}, steps 2 and 4 decode with D_cloud: the two do not fit
  unless D_cloud = D_{t-1} (errata D.6). Default: code with D_cloud; if the error passes the
  threshold, set D_cloud = D_{t-1} and code again with it. as_printed=True: code with D_{t-1},
  decode with D_cloud.
- Steps 1 and 2 are per sample, in the order of the rows. A sample is recovered with the D_cloud of
  its own moment.
- Once D_cloud is D_{t-1}, a further resend in slot t would send the same numbers: left out.
  as_printed=True sends again.
- The error metric l and the threshold are not given. l is ||y - y_hat|| / ||y|| (the RMSE of
  Section V-C for one sample); the threshold has no default. "Larger than": strictly.
- The cloud's first dictionary is not mentioned: D_cloud0=None means none yet, so the first sample
  sends D_0.
- The code in Example 1 is not defined; taken from Section V-C: c = T(y D^T), T keeps the eta0
  entries of largest absolute value. Ties: the first. Always eta0 values are sent, zeros too.
- "Compressed format": eta0 positions and eta0 values; the dictionary as N(N-1)/2 Givens angles
  (Section I). The order of the rotations is not given: column by column, row k with rows k+1..N-1,
  each annihilating one entry.
- N(N-1)/2 angles only reach determinant +1 (errata D.6). Default: D_cloud is D_{t-1} with its
  last atom negated if needed, which does no harm as the codes are those of D_cloud.
  as_printed=True: one sign is sent besides.
- D_cloud is what the angles give back: D_{t-1} up to rounding.
- Paper's count: eta0 numbers per sample (its ratio is floor(N/eta0)). Honest count: values,
  positions, angles. Bytes: bytes_per_number for a value or angle (not given: 8), the least whole
  number of bytes for a position, one byte for the sign. Flags and headers are not counted.
- All samples are taken as "required by the cloud".
- Section V-C does something else: it learns D_t first, then codes and decodes Y_t with D_t, and
  sends no dictionary. experiment() is that. Its t = 0 is the first block with D_0.
- Missing readings: the mean over the sensors present at that time (Section V-C). No centring or
  scaling is mentioned: none.
"""

from typing import NamedTuple

import numpy as np

from reference.d.noncvx_sfw import batch_start, noncvx_sfw, step


class Slot(NamedTuple):
    t: int
    D_edge: np.ndarray  # D_{t-1}
    C: np.ndarray  # codes as the cloud sees them
    positions: np.ndarray  # n x eta0
    values: np.ndarray  # n x eta0
    errors: np.ndarray  # n, the l of step 2 (before a resend; inf if the cloud has no dictionary)
    resent: np.ndarray  # n, whether a dictionary went with the sample
    angles: list  # one array of N(N-1)/2 per resend
    signs: list  # one per resend (1 unless as_printed)
    D_cloud: np.ndarray  # after the slot
    Y_hat: np.ndarray  # the cloud's reconstruction
    learn: tuple  # Step of Algorithm 2 with D_t
    numbers_paper: int
    bytes_paper: int
    numbers_honest: int
    bytes_honest: int


class Coded(NamedTuple):
    t: int
    D: np.ndarray
    C: np.ndarray
    Y_hat: np.ndarray


def keep_largest(a, eta0):
    """T_eta0 of one row: its positions (largest first) and values."""
    positions = np.argsort(-np.abs(a), kind="stable")[:eta0]
    return positions, a[positions]


def to_angles(D):
    """Givens angles that turn an orthogonal D into diag(1, .., 1, det), and this determinant."""
    R, angles = D.copy(), []
    for k in range(len(D) - 1):
        for i in range(k + 1, len(D)):
            a = np.arctan2(R[i, k], R[k, k])
            R[k], R[i] = np.cos(a) * R[k] + np.sin(a) * R[i], np.cos(a) * R[i] - np.sin(a) * R[k]
            angles.append(a)
    return np.array(angles), int(np.sign(R[-1, -1]))


def from_angles(angles, N, sign=1):
    """The inverse of to_angles."""
    R = np.eye(N)
    R[-1, -1] = sign
    pairs = [(k, i) for k in range(N - 1) for i in range(k + 1, N)]
    for (k, i), a in zip(reversed(pairs), reversed(angles), strict=True):
        R[k], R[i] = np.cos(a) * R[k] - np.sin(a) * R[i], np.sin(a) * R[k] + np.cos(a) * R[i]
    return R


def relative_error(y, y_hat):
    size = np.linalg.norm(y)
    return np.linalg.norm(y - y_hat) / size if size > 0 else np.linalg.norm(y_hat)


def send_dictionary(D, as_printed):
    """What the edge sends for D, and what the cloud makes of it: angles, sign, D_cloud."""
    angles, sign = to_angles(D)
    if not as_printed and sign < 0:
        angles, sign = to_angles(np.vstack([D[:-1], -D[-1:]]))
    return angles, sign, from_angles(angles, len(D), sign)


def compression(
    batches,
    D0,
    eta0,
    threshold,
    metric=relative_error,
    D_cloud0=None,
    bytes_per_number=8,
    as_printed=False,
    **learning,
):
    """Yield one Slot per batch. as_printed: of the scheme alone. **learning: of Algorithm 2."""
    D, D_cloud = np.asarray(D0, float), D_cloud0
    G, N = np.zeros_like(D), len(D)
    position_bytes = np.min_scalar_type(N - 1).itemsize
    for t, Y in enumerate(batches, start=1):
        C, Y_hat = np.zeros_like(Y), np.zeros_like(Y)
        positions, values = np.zeros((len(Y), eta0), int), np.zeros((len(Y), eta0))
        errors, resent, all_angles, signs = np.full(len(Y), np.inf), np.zeros(len(Y), bool), [], []
        fresh = False  # is D_cloud = D_{t-1} already?
        for j, y in enumerate(Y):
            coder = D if as_printed or D_cloud is None else D_cloud
            where, what = keep_largest(y @ coder.T, eta0)  # step 1
            if D_cloud is not None:
                errors[j] = metric(y, what @ D_cloud[where])  # step 2
            if errors[j] > threshold and (as_printed or not fresh):
                angles, sign, D_cloud = send_dictionary(
                    D, as_printed
                )  # step 2, first case: D_cloud = D_{t-1}
                all_angles.append(angles)
                signs.append(sign)
                resent[j] = fresh = True
                if not as_printed:
                    where, what = keep_largest(y @ D_cloud.T, eta0)
            positions[j], values[j], C[j, where] = where, what, what
            Y_hat[j] = what @ D_cloud[where]  # step 4
        learn = step(t, Y, D, G, **learning)  # step 3
        n_codes, n_angles = len(Y) * eta0, sum(map(len, all_angles))
        yield Slot(
            t,
            D,
            C,
            positions,
            values,
            errors,
            resent,
            all_angles,
            signs,
            D_cloud,
            Y_hat,
            learn,
            n_codes,
            n_codes * bytes_per_number,
            2 * n_codes + n_angles + as_printed * len(signs),
            n_codes * (bytes_per_number + position_bytes)
            + n_angles * bytes_per_number
            + as_printed * len(signs),
        )
        D, G = learn.D, learn.G


def experiment(Y0, batches, D_init, eta0, n_init=20, **learning):
    """Section V-C: start on Y0, then learn D_t from Y_t and code Y_t with D_t."""

    def coded(t, Y, D):
        C = np.zeros_like(Y)
        for c, a in zip(C, Y @ D.T, strict=True):
            where, what = keep_largest(a, eta0)
            c[where] = what
        return Coded(t, D, C, C @ D)

    D0 = list(batch_start(Y0, D_init, n_init, **learning))[-1].D
    yield coded(0, Y0, D0)
    batches = list(batches)
    for Y, s in zip(batches, noncvx_sfw(batches, D0, **learning), strict=True):
        yield coded(s.t, Y, s.D)


def fill_missing(Y):
    """Section V-C: a missing reading (NaN) becomes the mean of the sensors present (row)."""
    return np.where(np.isnan(Y), np.nanmean(Y, axis=1, keepdims=True), Y)
