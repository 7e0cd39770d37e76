"""The elements and texts of a page."""

from html.parser import HTMLParser

VOID_TAGS = {"meta", "input", "br", "link", "img"}


class ParsedPage(HTMLParser):
    """A page as a list of elements, the texts of its scripts and styles, and its other text.

    Parsing fails with an AssertionError where an element is not closed.
    """

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.inline_texts = {"script": [], "style": []}
        self.text = ""
        self.open_tags = []
        self.feed(html)
        self.close()
        assert self.open_tags == []

    def handle_starttag(self, tag, attrs):
        """Add an element, and remember to close it."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self.open_tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Add an element that closes itself."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        """Close the element that was opened last."""
        assert self.open_tags.pop() == tag

    def handle_data(self, data):
        """Add text to its script or style, or to the text of the page."""
        if self.open_tags and self.open_tags[-1] in self.inline_texts:
            self.inline_texts[self.open_tags[-1]].append(data)
        else:
            self.text += data

    def find_all(self, tag, **attributes):
        """Return the attributes of the elements with a tag and the given attributes.

        An underscore at the end of a name is left out: ``class_`` stands for ``class``.
        """
        wanted = {(name.rstrip("_"), value) for name, value in attributes.items()}
        matches = []
        for name, present in self.elements:
            if name == tag and wanted <= present.items():
                matches.append(present)
        return matches
