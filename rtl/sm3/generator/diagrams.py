"""Timing diagrams: WaveJSON in JSON5 to SVG."""

import wavedrom


def svg(source):
    """The drawing as text, the same for the same source."""
    text = wavedrom.render(source.read_text(encoding="utf-8")).tostring()
    return text if text.endswith("\n") else text + "\n"
