"""What a page holds, element by element."""

from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link", "img"}


class ParsedPage(HTMLParser):
    """Every element with its attributes, the texts of scripts and styles; fails where elements do not close."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.inline_texts = {"script": [], "style": []}
        self.text = ""
        self.open = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inline_texts:
            self.inline_texts[self.open[-1]].append(data)
        else:
            self.text += data

    def find_all(self, tag, **attributes):
        return [
            given
            for name, given in self.elements
            if name == tag
            and all(given.get(key.rstrip("_")) == value for key, value in attributes.items())
        ]
