import { type Language, wordsOf } from '../questions/words.ts'

export interface ProxyFormState {
  readonly proxy: string
  /** Name that the user typed before. A password is never sent back. */
  readonly name: string
  readonly failure: string | undefined
  readonly isKept: boolean
  readonly language: Language
}

/** The page that asks for the sign-in to a proxy, as HTML without scripts. */
export function proxyForm({ proxy, name, failure, isKept, language }: ProxyFormState): string {
  const words = wordsOf(language)
  const isPlain = !proxy.startsWith('https:')
  const focus = (isHere: boolean) => (isHere ? ' autofocus' : '')
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>${text(words.proxyTitle)}</title>
<style>${STYLE}</style>
<main>
<h1>${text(words.proxyHeading)}</h1>
<p><code>${text(proxy)}</code></p>
<p>${text(words.proxyNotBerth)}${isPlain ? ` ${text(words.proxyPlain)}` : ''}</p>
${failure === undefined ? '' : `<p role="alert">${text(failure)}</p>`}
<form method="post">
<label for="name">${text(words.proxyName)}</label>
<input id="name" name="name" value="${text(name)}" autocomplete="off" autocapitalize="off" spellcheck="false"${focus(name === '')}>
<label for="password">${text(words.proxyPassword)}</label>
<input id="password" name="password" type="password" autocomplete="off"${focus(name !== '')}>
<label class="check"><input type="checkbox" name="keep"${isKept ? ' checked' : ''}> ${text(words.proxyKeep)}</label>
<div class="buttons">
<button class="main">${text(words.proxySignIn)}</button>
<button name="cancel" value="1">${text(words.cancel)}</button>
</div>
</form>
</main>
</html>`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const text = (plain: string) => plain.replaceAll(/[&<>"]/g, sign => ENTITIES[sign] ?? sign)

/** The colours of the console's themes (`renderer/ui/theme.ts`). */
const STYLE = `
:root { --back: #fff; --front: #142127; --soft: #41535a; --line: #6b7d84; --main: #0b6b78; --on: #fff; --wrong: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --back: #141f25; --front: #e3edf0; --soft: #b9cad1; --line: #83959c; --main: #6fd0dc; --on: #00343b; --wrong: #ff9b92 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--front); font: 14px/1.5 system-ui, sans-serif }
main { padding: 24px }
h1 { margin: 0 0 8px; font-size: 18px; font-weight: 650 }
p { margin: 0 0 12px; color: var(--soft) }
code { color: var(--front); overflow-wrap: anywhere }
[role=alert] { color: var(--wrong); font-weight: 600 }
label { display: block; margin: 12px 0 4px }
input:not([type=checkbox]) { width: 100%; padding: 9px 10px; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: inherit; font: inherit }
.check { display: flex; align-items: flex-start; gap: 8px; margin: 14px 0 20px }
.check input { margin-top: 4px; accent-color: var(--main) }
.buttons { display: flex; flex-direction: row-reverse; gap: 8px }
button { padding: 9px 18px; border: 0; border-radius: 20px; background: transparent; color: var(--main); font: inherit; font-weight: 600; cursor: pointer }
.main { background: var(--main); color: var(--on) }
:focus-visible { outline: 2px solid var(--main); outline-offset: 2px }
`
