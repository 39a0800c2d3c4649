// Curtsy's search box: <div data-curtsy-search="https://search.example"></div> becomes a field that
// suggests while one types, and shows results below it. See docs/guides/search.md.
(() => {
"use strict";
const here = document.currentScript ? new URL(document.currentScript.src).origin : location.origin;
const css = `
:host{--ink:var(--curtsy-ink,#23262b);--soft:var(--curtsy-soft,#5b6169);--paper:var(--curtsy-paper,#fff);--line:var(--curtsy-line,#8b9098);
--link:var(--curtsy-link,#17508f);--on:var(--curtsy-on,#e8eff8);--mark:var(--curtsy-mark,#fdeeb3);--radius:var(--curtsy-radius,.5rem);
display:block;position:relative;color:var(--ink);font:var(--curtsy-font,1rem/1.5 system-ui,sans-serif);overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){:host{--ink:var(--curtsy-ink,#e3e1dc);--soft:var(--curtsy-soft,#a4a9ae);--paper:var(--curtsy-paper,#1d2125);
--line:var(--curtsy-line,#757b82);--link:var(--curtsy-link,#93bdf2);--on:var(--curtsy-on,#2c3540);--mark:var(--curtsy-mark,#5b4a14)}}
*{box-sizing:border-box}[hidden]{display:none!important}
form{display:flex;gap:.5rem;margin:0}
input,button{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--line);border-radius:var(--radius);min-height:2.75rem;padding:.3rem .8rem}
input{flex:1;min-width:0}button{cursor:pointer}
:focus-visible{outline:.15rem solid var(--link);outline-offset:.1rem}
ul,ol{list-style:none;margin:0;padding:0}a{color:var(--link)}
.list{position:absolute;z-index:9;left:0;right:0;margin-top:.2rem;padding:.3rem;background:var(--paper);border:1px solid var(--line);border-radius:var(--radius)}
.list li{padding:.35rem .6rem;border-radius:var(--radius);cursor:pointer}.list li[aria-selected=true]{background:var(--on)}
small{display:block;color:var(--soft)}
.panel{margin-top:.6rem;padding:.8rem 1rem;background:var(--paper);border:1px solid var(--line);border-radius:var(--radius)}
.top{display:flex;justify-content:space-between;gap:1rem;align-items:center;color:var(--soft)}
.panel li{padding:.6rem 0}.panel p{margin:.1rem 0}.title{font-weight:600}mark{background:var(--mark);color:inherit}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}`;

// Text of sites is shown as text, without characters that turn the direction of what follows.
const clean = (x) => typeof x === "string" ? x.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "") : x;
const make = (name, set, ...inside) => {
  const e = document.createElement(name);
  for (const k in set) e.setAttribute(k, set[k]);
  e.append(...inside.map(clean));
  return e;
};
// Only such addresses are led to.
const safe = (url) => /^https?:\/\//i.test(url);
const to = (url, text, cls) => safe(url) ? make("a", {href: url, class: cls || ""}, text) : make("span", {class: cls || ""}, text);

// The marks of a snippet are bytes of its UTF-8.
const marked = (text, marks) => {
  const bytes = new TextEncoder().encode(text), p = make("p", {}), cut = (a, b) => clean(new TextDecoder().decode(bytes.slice(a, b)));
  let done = 0;
  for (const [from, end] of marks || []) {
    if (from < done || end > bytes.length) continue;
    p.append(cut(done, from), make("mark", {}, cut(from, end)));
    done = end;
  }
  p.append(cut(done));
  return p;
};

function attach(box) {
  if (box.shadowRoot) return;
  const base = (box.dataset.curtsySearch || here).replace(/\/+$/, ""), filter = box.dataset.filter || "";
  const label = box.dataset.label || "Search";
  const root = box.attachShadow({mode: "open"}), sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  const input = make("input", {id: "q", type: "search", role: "combobox", "aria-expanded": "false", "aria-controls": "list", "aria-autocomplete": "list",
    "aria-haspopup": "listbox", autocomplete: "off", autocapitalize: "none", spellcheck: "false", enterkeyhint: "search", maxlength: "2048", placeholder: box.dataset.placeholder || ""});
  const list = make("ul", {id: "list", class: "list", role: "listbox", "aria-label": "Suggestions", hidden: ""});
  const status = make("p", {class: "unseen", role: "status"});
  const panel = make("section", {class: "panel", "aria-label": "Search results", hidden: ""});
  const form = make("form", {role: "search"}, make("label", {for: "q", class: "unseen"}, label), input, make("button", {type: "submit"}, label));
  root.append(form, list, status, panel);

  let options = [], active = -1, timer = 0, asking = null;
  const query = (path, params) => {
    if (asking) asking.abort();
    asking = new AbortController();
    return fetch(base + path + "?" + new URLSearchParams(params), {credentials: "omit", referrerPolicy: "no-referrer", signal: asking.signal}).then((r) => {
      if (!r.ok) throw new Error(String(r.status));
      return r.json();
    });
  };
  const stop = () => { clearTimeout(timer); if (asking) asking.abort(); };
  const close = () => {
    list.hidden = true;
    options = [];
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (n) => {
    active = n;
    options.forEach((o, i) => o.row.setAttribute("aria-selected", String(i === n)));
    if (n < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", options[n].row.id);
    options[n].row.scrollIntoView({block: "nearest"});
  };
  const take = (o) => {
    stop();
    close();
    if (o.url) return location.assign(o.url);
    input.value = o.text;
    search();
  };
  const suggest = async () => {
    const q = input.value;
    if (!q.trim() || new TextEncoder().encode(q).length > 256) return close();
    let a;
    try { a = await query("/api/v1/suggest", {q, limit: 5}); } catch (e) { return; } // typing goes on without
    if (root.activeElement !== input) return;
    close();
    const tail = " " + filter; // a query was recorded with its filter
    const texts = (a.frequent || []).map((x) => filter && x.endsWith(tail) ? x.slice(0, -tail.length) : x).concat(a.queries);
    options = [...[...new Set(texts)].map((text) => ({text})), ...a.pages.filter((p) => safe(p.url)).map((p) => ({text: p.title, url: p.url}))];
    options.forEach((o, i) => {
      o.row = make("li", {id: "o" + i, role: "option", "aria-selected": "false"}, o.text);
      if (o.url) o.row.append(make("small", {}, new URL(o.url).host));
      o.row.addEventListener("pointerdown", (e) => e.preventDefault()); // the field keeps the focus
      o.row.addEventListener("click", () => take(o));
    });
    list.replaceChildren(...options.map((o) => o.row));
    list.hidden = !options.length;
    input.setAttribute("aria-expanded", String(options.length > 0));
    status.textContent = options.length === 1 ? "1 suggestion" : options.length + " suggestions";
  };
  const show = (...inside) => {
    const x = make("button", {type: "button"}, "Close");
    x.addEventListener("click", hide);
    panel.replaceChildren(make("div", {class: "top"}, make("span", {}, status.textContent), x), ...inside);
    panel.hidden = false;
  };
  const hide = () => { panel.hidden = true; input.focus(); };
  const search = async () => {
    const typed = input.value.trim(), q = (typed + " " + filter).trim();
    if (!typed) return;
    stop();
    close();
    let a;
    try { a = await query("/api/v1/search", {q, per: 10}); } catch (e) {
      if (e.name === "AbortError") return;
      status.textContent = "The search does not answer. Try again in a moment.";
      return show();
    }
    status.textContent = a.hits.length ? (a.at_least ? "at least " : "") + a.total + (a.total === 1 ? " page" : " pages") + (a.corrected ? " for " + a.corrected : "") : "Nothing found";
    const hits = a.hits.map((h) => {
      const li = make("li", {}, make("p", {}, to(h.url, h.title || h.url, "title")));
      if (h.section) li.append(make("p", {}, to(h.section.url, "§ " + h.section.title, "section")));
      if (h.snippet) li.append(marked(h.snippet, h.marks));
      if (safe(h.url)) li.append(make("small", {}, new URL(h.url).host));
      return li;
    });
    show(make("ol", {}, ...hits), to(base + "/search?" + new URLSearchParams({q}), "All results", "all"));
  };
  input.addEventListener("input", () => { stop(); timer = setTimeout(suggest, 120); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (e) => {
    const last = options.length - 1;
    if (e.isComposing) return;
    if (e.key === "Escape") {
      if (!list.hidden) close(); else if (!panel.hidden) hide(); else input.value = "";
      e.preventDefault();
      return;
    }
    if (e.key === "ArrowDown" && list.hidden) return suggest();
    if (list.hidden) return;
    if (e.key === "ArrowDown") choose(active < last ? active + 1 : -1);
    else if (e.key === "ArrowUp") choose(active < 0 ? last : active - 1);
    else if (e.key === "Home" && active >= 0) choose(0);
    else if (e.key === "End" && active >= 0) choose(last);
    else if (e.key === "Enter" && active >= 0) take(options[active]);
    else return;
    e.preventDefault();
  });
  form.addEventListener("submit", (e) => { e.preventDefault(); search(); });
  panel.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
}
const all = () => document.querySelectorAll("[data-curtsy-search]").forEach(attach);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all); else all();
})();
