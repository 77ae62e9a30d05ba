"""Formulas as MathML, which browsers show by themselves: no script, no font, no network.

Docutils has the converter. It refuses commands that it does not know, and so does the build.
"""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _formula(translator, node, *, is_block):
    text = node.astext()
    try:
        translator.body.append(tex2mathml(text, as_block=is_block))
    except MathError as error:
        logger.warning("the formula %r: %s", text, error, location=node)
    raise nodes.SkipNode


def _inline(translator, node):
    _formula(translator, node, is_block=False)


def _block(translator, node):
    translator.body.append('<div class="math notranslate nohighlight">')
    try:
        _formula(translator, node, is_block=True)
    finally:
        translator.body.append("</div>\n")


def _nothing(translator, node):
    pass


def setup(app):
    """Register the renderer "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, _nothing), (_block, _nothing))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
