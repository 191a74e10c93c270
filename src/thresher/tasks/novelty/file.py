"""A `NovelDocumentDetector` as arrays and a JSON document, for `thresher.save` and `load`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.parts import PARAMETERS
from thresher.estimators.saving import pack, packed_parameters, unpack, unpacked_model
from thresher.persistence import Contents, put_strings
from thresher.tasks.novelty.directions import Directions
from thresher.tasks.novelty.fixed_terms import FixedTermsMemory
from thresher.tasks.novelty.memory import DictionaryMemory, DirectionMemory, Memory
from thresher.tasks.novelty.published import BatchMemory
from thresher.tasks.novelty.usual_file import packed_usual, unpacked_usual
from thresher.tasks.text.counts_file import documents_of
from thresher.tasks.text.growing_words import GrowingWords

if TYPE_CHECKING:
    from thresher.tasks.novelty.detector import NovelDocumentDetector


def pack_detector(detector: NovelDocumentDetector) -> tuple[dict[str, Any], dict[str, Any]]:
    """Words with their frequencies, scores seen, and the memory."""
    if not hasattr(detector, "_memory"):
        raise NotFittedError("This detector has not seen a document; there is nothing to save.")
    detector._check_goes_on()
    if detector.vectorizer is not None:
        raise ValueError(
            "A vectoriser of one's own cannot be saved; set vectorizer=None before saving, and "
            "give it again after loading."
        )
    words, memory = detector._words, detector._memory
    arrays: dict[str, Any] = {"frequency": words.frequency}
    put_strings(arrays, "words", words.words)
    document: dict[str, Any] = {
        "parameters": packed_parameters(detector, arrays),
        "n_words": len(words.words),
        "n_documents": words.n_documents,
        "n_steps": detector.n_steps_,
    }
    document |= packed_usual(detector._usual, len(words.words), arrays)
    if isinstance(memory, DirectionMemory):
        kept = memory.directions
        arrays["sums"] = kept.sums
        document["directions"] = {"seed": kept.seed, "n_steps": kept.n_steps}
        return arrays, document
    assert isinstance(memory, DictionaryMemory | FixedTermsMemory)
    inner, document["model"] = pack(memory.model)
    if isinstance(memory, FixedTermsMemory):
        arrays["columns"] = memory.columns.astype(np.int64)
    else:
        options = ("n_new_atoms", "unit", "single")
        document["dictionary"] = {name: getattr(memory, name) for name in options}
        document["documents"] = PARAMETERS.pack("documents", memory.documents, arrays)
    if isinstance(memory, BatchMemory) and memory.codes is not None:
        arrays["codes"] = memory.codes
    return arrays | {f"model.{name}": values for name, values in inner.items()}, document


def unpack_detector(contents: Contents) -> NovelDocumentDetector:
    """The detector again; it goes on as if it had never been a file."""
    detector: NovelDocumentDetector = unpacked_model(contents)
    n_words, n_documents = contents.integer("n_words"), contents.integer("n_documents")
    words = contents.strings("words") if n_words else []
    frequency = contents.array("frequency", (n_words,))
    usual = not n_words or (frequency.min() >= 0 and frequency.max() <= n_documents)
    if len(set(words)) != n_words or not usual:
        raise contents.error("its words do not suit their frequencies")
    try:
        detector._new_alarm()
    except ValueError as error:
        raise contents.error(error) from error
    memory = _memory(contents, detector, n_words)
    known = GrowingWords(None, detector.max_words, words, frequency, n_documents)
    usual = unpacked_usual(contents, detector._new_usual(), n_words)
    return detector._adopt(known, memory, usual, contents.integer("n_steps"))


def _memory(contents: Contents, detector: NovelDocumentDetector, n_words: int) -> Memory:
    """Directions, fixed terms, or a dictionary of all words."""
    if "directions" in contents.document:
        kept = Contents({}, contents.record("directions"), contents.name)
        sums = contents.array("sums", (n_words, None), ("float32",))
        seed, n_steps = kept.integer("seed"), kept.integer("n_steps")
        if not 1 <= sums.shape[1] <= detector.n_components:
            raise contents.error(f"{sums.shape[1]} directions are too few or too many")
        return DirectionMemory(Directions(sums, detector.n_components, seed, n_steps))
    model = unpack(contents.inner("model"))
    if not isinstance(model, DictionaryEstimator):
        raise contents.error("what it holds inside is no dictionary of words")
    width = model.components_.shape[1]
    if "columns" in contents.arrays:
        columns = contents.places("columns", width, n_words, least=-1)
        if not hasattr(model, "energies_"):
            raise contents.error("its terms need an orthogonal dictionary")
        return FixedTermsMemory(model, detector.n_components, columns, n_words)
    options = Contents({}, contents.record("dictionary"), contents.name)
    if width != n_words or options.text("unit") not in ("l1", "l2") or not hasattr(model, "grow"):
        raise contents.error(f"{n_words} words do not suit a dictionary of {width} columns")
    memory = detector._new_memory(n_words)
    if not isinstance(memory, DictionaryMemory) or type(model) is not type(memory.model):
        raise contents.error("what it holds inside does not suit its mode")
    memory = replace(
        memory,
        model=model,
        n_new_atoms=options.integer("n_new_atoms"),
        unit=options.text("unit"),
        single=options.flag("single"),
        documents=documents_of(contents, "documents", n_words),
    )
    if not isinstance(memory, BatchMemory):
        return memory
    if memory.documents is None:
        raise contents.error("its documents are missing")
    if not memory.keeps_codes:
        return memory
    shape = (memory.documents.shape[0], len(model.components_))
    return replace(memory, codes=contents.array("codes", shape, ("float32", "float64")))
