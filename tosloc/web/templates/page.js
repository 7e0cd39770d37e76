
"use strict";
(() => {
  const all = (what, inside = document) => [...inside.querySelectorAll(what)];
  const text = document.getElementById("text"), form = document.getElementById("ask");
  document.documentElement.classList.add("scripts", ...(navigator.clipboard ? ["copies"] : []));

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const label = button.firstChild, said = label.data;
    try {
      await navigator.clipboard.writeText(button.closest(".hit").querySelector(".path").textContent);
      label.data = "Copied";
    } catch {
      label.data = "Cannot copy";
    }
    setTimeout(() => { label.data = said; }, 1500);
  });

  // walk files
  const isWriting = (one) => one.closest("input, textarea, select, button, [contenteditable]");
  const focus = (one) => { one.focus({preventScroll: true}); one.scrollIntoView({block: "nearest"}); };
  document.addEventListener("keydown", (event) => {
    const at = event.target instanceof Element ? event.target : document.body;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at === text) { form.requestSubmit(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isWriting(at)) { at.blur(); return; }
    if (isWriting(at)) return;
    const hit = at.closest(".hit"), by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.key === "/" && text) { event.preventDefault(); focus(text); }
    else if (by && !at.closest(".text")) {
      const hits = all(".hit").filter((file) => file.checkVisibility()), next = hit ? hits.indexOf(hit) + by : by > 0 ? 0 : hits.length - 1;
      if (hits.length) { event.preventDefault(); focus(hits[Math.min(Math.max(next, 0), hits.length - 1)]); }
    } else if (event.key === "Enter" && at === hit) {
      const lines = hit.querySelector("details.source");
      if (lines) { event.preventDefault(); lines.open = !lines.open; }
    }
  });

  // on paper everything is shown
  let closed = [];
  window.addEventListener("beforeprint", () => { closed = all("details:not([open])"); for (const one of closed) one.open = true; });
  window.addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
  if (!form) return;

  // a file, chosen or dropped, becomes the text
  const most = 2000000;
  const read = async (file) => {
    if (!file) return;
    if (file.size > most) { text.setCustomValidity(`${file.name} is larger than 2 MB; paste only the part that describes the bug`); text.reportValidity(); return; }
    text.setCustomValidity("");
    text.value = await file.text();
    focus(text);
  };
  text.addEventListener("input", () => text.setCustomValidity(text.value.length > most ? "The text is larger than 2 MB; paste only the part that describes the bug" : ""));
  const chosen = document.getElementById("file");
  chosen.addEventListener("change", () => read(chosen.files[0]));
  const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  document.addEventListener("dragover", (event) => { if (carries(event)) { event.preventDefault(); text.classList.add("dropping"); } });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) text.classList.remove("dropping"); });
  document.addEventListener("drop", (event) => {
    text.classList.remove("dropping");
    if (carries(event)) { event.preventDefault(); read(event.dataTransfer.files[0]); }
  });

  // the page is asked for again until no question waits; what stands in the form stays
  const wait = async () => {
    for (let waiting; (waiting = all("[data-state=waiting]")).length;) {
      await new Promise((done) => setTimeout(done, 400));
      let page;
      try {
        page = new DOMParser().parseFromString(await (await fetch(location.href, {cache: "no-store"})).text(), "text/html");
        if (!page.getElementById("error")) throw page;
      } catch {
        for (const one of waiting) one.querySelector(".status").textContent = "The server has stopped; start it and send the report again.";
        return;
      }
      for (const one of waiting) {
        const now = page.getElementById(one.id), said = one.querySelector(".status");
        if (!now) { one.remove(); document.getElementById("error").replaceWith(page.getElementById("error")); }
        else if (now.dataset.state !== "waiting") {
          one.replaceWith(now);
          // read aloud in place of the whole answer
          const first = now.querySelector(".path");
          document.getElementById("news").textContent = `Answered: ${now.getAttribute("aria-label")}. ${first ? `First file: ${first.textContent}` : ""}`;
        } else if (said.textContent !== now.querySelector(".status").textContent) said.textContent = now.querySelector(".status").textContent;
      }
    }
  };
  wait();
})();
