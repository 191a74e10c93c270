"""Figures 1–6 and 10–15 of paper A on the page."""

from typing import Any

import numpy as np
from benchmarks.reproduce import paper_a_curves as curves
from benchmarks.reproduce.exhibits import Claim, Exhibit, Found, Lead, figure


def end(curve: Any) -> float:
    return float(curve["clean_error"][-1])


def at(curve: Any, seconds: float) -> float:
    """The clean error at a time: that of the last look before it, or of the first."""
    return float(curve["clean_error"][max(0, int(np.searchsorted(curve["seconds"], seconds)) - 1)])


def of_curves(found: Found, number: int) -> Exhibit:
    subject, panels = curves.FIGURES[number]
    setting, results = found.of(f"figure_{number}/")
    shown = {
        name: results[job]
        for name in panels
        if (job := curves.job_name(number, name)) in results
    }  # fmt: skip
    rows = [
        (
            f"{name} {label}".strip(),
            *(figure(curve[key][-1], digits) for key, digits in
              (("seconds", 2), ("held_out_loss", 3), ("clean_error", 4))),
        )
        for name, panel in shown.items()
        for label, curve in panel.items()
    ]  # fmt: skip
    claims = CLAIMS[(number - 1) % 9 + 1](shown) if shown else [Claim(curves.SAID[number])]
    leads = [
        lead_of_curves(number, name, panel) for name, panel in shown.items() if "OADMM" in panel
    ]
    return Exhibit(
        "A",
        f"Figure {number}",
        subject,
        ("curve, at its end", "seconds", "held-out loss", "clean error"),
        rows,
        claims,
        leads[:1],
        "The paper has curves only. Held-out samples, coded exactly, are the same measure for all; "
        "clean error is (46) of them.",
        (f"../paper_a_figure_{number}",) if shown else (),
        setting,
    )


def lead_of_curves(number: int, name: str, panel: Any) -> Lead:
    """At the end of its curve ``auto`` against the best published method at its own end."""
    auto = panel["online auto"]
    rivals = [m for m in panel if "auto" not in m]
    best = min(rivals, key=lambda m: end(panel[m]))
    reached = [s for s, e in zip(auto["seconds"], auto["clean_error"], strict=True)
               if e <= end(panel[best])]  # fmt: skip
    times = panel[best]["seconds"][-1] / reached[0] if reached else None
    return Lead(
        f"A, Figure {number} {name}".strip(),
        "clean error",
        best,
        figure(end(panel[best]), 4),
        figure(end(auto), 4),
        times,
        "one",
        end(auto) <= end(panel[best]),
    )


def online_below_batch(panels: Any) -> list[Claim]:
    """At the time of the shorter curve, online methods are below their batch counterparts."""
    pairs, seen = [], []
    for name, panel in panels.items():
        for online, batch in (("OPGD", "BPGD"), ("OADMM", "BADMM")):
            if batch in panel:
                when = min(panel[online]["seconds"][-1], panel[batch]["seconds"][-1])
                values = at(panel[online], when), at(panel[batch], when)
                pairs.append(values[0] < values[1])
                seen.append(f"{name} {online} {values[0]:.3f}, {batch} {values[1]:.3f}".strip())
    return [Claim("Online converges much faster than batch.", all(pairs), "; ".join(seen))]


def of_figure_1(panels: Any) -> list[Claim]:
    claims = online_below_batch({k: v for k, v in panels.items() if "BPGD" in v})
    first = next(iter(panels.values()))
    ratio = end(first["OPGD"]) / end(first["OADMM"])
    claims.append(
        Claim(
            "OPGD and OADMM converge almost alike.",
            1 / 1.25 < ratio < 1.25,
            f"OPGD has {ratio:.1f} times the clean error of OADMM",
        )
    )
    if "online" in panels:
        online = panels["online"]
        ends = {m: end(c) for m, c in online.items()}
        seen = ", ".join(f"{m} {v:.3f}" for m, v in ends.items())
        claims += [
            Claim("ORPCA is slightly faster.", ends["ORPCA"] <= ends["OADMM"], seen),
            Claim(
                "ONMF fails to converge: the outliers perturb it.",
                ends["ONMF"] > max(ends["OADMM"], ends["OPGD"]),
                seen,
            ),
        ]
    return claims


def ratio_of(panel: Any, up_to: float = np.inf) -> float:
    """The largest clean error of a sweep over the least."""
    ends = [end(c) for label, c in panel.items() if float(label.split("= ")[1]) <= up_to]
    return max(ends) / min(ends)


def of_batch_sizes(panels: Any) -> list[Claim]:
    ratios = {m: ratio_of(panels[m], 40) for m in ("OPGD", "OADMM") if m in panels}
    seen = ", ".join(f"{m}: largest over least {r:.2f}" for m, r in ratios.items())
    return [Claim("τ from 5 to 40 has very little effect.", max(ratios.values()) < 1.25, seen)]


def of_sensitivities(panels: Any) -> list[Claim]:
    """The online method of a figure depends less on its constant than the batch one."""
    online = next((m for m in panels if m.startswith("O")), None)
    batch = next((m for m in panels if m.startswith("B")), None)
    if online is None or batch is None:
        return [Claim("Online depends less on its constant than batch.")]
    ratios = ratio_of(panels[online]), ratio_of(panels[batch])
    seen = f"largest clean error over least: {online} {ratios[0]:.1f}, {batch} {ratios[1]:.1f}"
    return [
        Claim("Online depends much less on its constant than batch.", ratios[0] < ratios[1], seen)
    ]


def of_more_outliers(panels: Any) -> list[Claim]:
    rises = [
        (f"{name} {m}", curve["clean_error"][-1] / min(curve["clean_error"]))
        for name, panel in panels.items()
        for m, curve in panel.items()
        if m in ("OPGD", "OADMM")
    ]
    worst = max(rises, key=lambda pair: pair[1])
    steady = Claim(
        "Online converges steadily, without fluctuations.",
        worst[1] < 1.05,
        f"the end is {worst[1]:.3f} times the least value ({worst[0]})",
    )
    return [*online_below_batch(panels), steady]


def of_atoms(panels: Any) -> list[Claim]:
    return online_below_batch({k: v for k, v in panels.items() if "BPGD" in v})


CLAIMS: dict[int, Any] = {
    1: of_figure_1,
    2: of_batch_sizes,
    3: of_atoms,
    4: of_sensitivities,
    5: of_sensitivities,
    6: of_more_outliers,
}
