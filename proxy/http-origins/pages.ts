import { type Admission } from './gate.ts'

type Refusal = Extract<Admission, { kind: 'refuse' }>['reason']

/** Text of the page when the gate refuses: what happened, and what to do. */
const REFUSALS: Record<Refusal, { readonly title: string; readonly text: string }> = {
  wrong_host: {
    title: 'This address belongs to another app',
    text: 'The name in the address bar is not the one this port was opened for. Open the app again from the console.',
  },
  foreign_origin: {
    title: 'Request from another site',
    text: 'Another web page tried to reach this app through your browser. It was stopped; nothing was sent to the app.',
  },
  bad_ticket: {
    title: 'This link was used or is too old',
    text: 'A link to an app works once and for one minute. Go back to the console and open the app again.',
  },
  worker: {
    title: 'Service workers of the whole address are not allowed',
    text: 'A service worker of this app would see the links that let a browser in. It was not registered; the app works without it.',
  },
  no_cookie: {
    title: 'Open this app from the console',
    text: 'This browser has not been let in yet, or the tunnel was opened anew. Go to the console and open the app there.',
  },
}

export function refusalPage(reason: Refusal): string {
  return page({ ...REFUSALS[reason], code: reason })
}

/** Page shown when the path to the app failed. With `retry` the page reloads by itself: the app may still be starting. */
export function failurePage(failure: {
  readonly app: string
  readonly session: string
  readonly code: string
  readonly message: string
  readonly retry: boolean
}): string {
  const next = failure.retry
    ? 'The app may still be starting; this page tries again every few seconds.'
    : 'Look at the session in the console; its page says what happened and what can be done.'
  return page({
    title: `${failure.app} in session "${failure.session}" does not answer`,
    text: `${failure.message} ${next}`,
    code: failure.code,
    refreshSeconds: failure.retry ? 3 : undefined,
  })
}

interface PageText {
  readonly title: string
  readonly text: string
  readonly code: string
  readonly refreshSeconds?: number | undefined
}

function page({ title, text, code, refreshSeconds }: PageText): string {
  const refresh = refreshSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${refreshSeconds}">`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${refresh}
<title>${escapeHtml(title)}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}code{opacity:.7}</style>
</head><body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p><p><code>${escapeHtml(code)}</code></p></main></body></html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

/** Headers of every page of ours on an app's origin. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
} as const
