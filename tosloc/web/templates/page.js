
"use strict";
(() => {
  const all = (what, inside = document) => [...inside.querySelectorAll(what)];
  const text = document.getElementById("text"), form = document.getElementById("ask");
  for (const one of all(".keys, .file")) one.hidden = false;

  // walk files and answers
  const isWriting = (one) => one.closest("input, textarea, select, button, [contenteditable]");
  const focus = (one) => { if (one) { one.focus({preventScroll: true}); one.scrollIntoView({block: "nearest", inline: "nearest"}); } };
  const step = (places, now, by) => focus(places[now < 0 ? (by > 0 ? 0 : places.length - 1) : Math.min(Math.max(now + by, 0), places.length - 1)]);
  document.addEventListener("keydown", (event) => {
    const at = event.target instanceof Element ? event.target : document.body;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at === text) { form.requestSubmit(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isWriting(at)) { at.blur(); return; }
    if (isWriting(at)) return;
    const hit = at.closest(".hit"), answer = at.closest(".answer");
    const inCode = at.closest(".code, .text");
    if (event.key === "/") { if (text) { event.preventDefault(); focus(text); } }
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (at.closest(".text")) return;
      const hits = all(".hit", answer || document);
      if (!hits.length) return;
      event.preventDefault();
      step(hits, hits.indexOf(hit), event.key === "ArrowDown" ? 1 : -1);
    } else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && !inCode) {
      const answers = all(".answer");
      if (answers.length < 2) return;
      event.preventDefault();
      const by = event.key === "ArrowRight" ? 1 : -1, now = answers.indexOf(answer);
      const next = answers[now < 0 ? 0 : Math.min(Math.max(now + by, 0), answers.length - 1)];
      focus(next.querySelector(".hit") || next.querySelector("h2"));
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
    if (file.size > most) { text.setCustomValidity(`${file.name} is larger than 2 MB; give the part that says what goes wrong`); text.reportValidity(); return; }
    text.setCustomValidity("");
    text.value = await file.text();
    focus(text);
  };
  text.addEventListener("input", () => text.setCustomValidity(text.value.length > most ? "more than 2 MB; give the part that says what goes wrong" : ""));
  const chosen = document.getElementById("file");
  chosen.addEventListener("change", () => read(chosen.files[0]));
  const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  document.addEventListener("dragover", (event) => { if (carries(event)) { event.preventDefault(); text.classList.add("dropping"); } });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) text.classList.remove("dropping"); });
  document.addEventListener("drop", (event) => {
    text.classList.remove("dropping");
    if (carries(event)) { event.preventDefault(); read(event.dataTransfer.files[0]); }
  });

  // questions that wait are asked after until they are answered
  const wait = async (article) => {
    for (;;) {
      await new Promise((done) => setTimeout(done, 400));
      let page;
      try {
        const reply = await fetch(article.id.replace("question-", "questions/"), {cache: "no-store"});
        if (!reply.ok) return;
        page = new DOMParser().parseFromString(await reply.text(), "text/html");
      } catch {
        article.querySelector("[role=status]").textContent = "The server has ended; start tosloc serve again.";
        return;
      }
      const now = page.querySelector(".answer");
      if (now.dataset.state !== "waiting") { article.replaceWith(now); return; }
      const said = article.querySelector("[role=status]"), news = now.querySelector("[role=status]").textContent;
      if (said.textContent !== news) said.textContent = news;
    }
  };
  all(".answer[data-state=waiting]").forEach(wait);
})();
