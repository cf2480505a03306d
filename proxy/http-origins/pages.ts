import { type Admission } from './gate.ts'

type Refusal = Extract<Admission, { kind: 'refuse' }>['reason']

/** Text of the page when the gate refuses: what happened, and what to do. */
const REFUSALS: Record<Refusal, { readonly title: string; readonly text: string }> = {
  wrong_host: {
    title: 'This address belongs to another app',
    text: 'This port was opened for another app name than the one in the address bar. Open the app again from the console.',
  },
  foreign_origin: {
    title: 'Request from another site',
    text: 'Another web page tried to reach this app through your browser. Berth stopped the request; nothing was sent to the app.',
  },
  bad_ticket: {
    title: 'This link was used before or is too old',
    text: 'A link to an app works once, within one minute. Go back to the console and open the app again.',
  },
  worker: {
    title: 'Service workers for the whole address are not allowed',
    text: 'A service worker for the whole address could read the sign-in links of this app. Berth did not register it; the app works without one.',
  },
  no_cookie: {
    title: 'Open this app from the console',
    text: 'This browser is not signed in to the app, or the app was opened anew. Open the app from the console.',
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
    : 'The page of the session in the console says what happened and what you can do.'
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
  readonly code?: string
  /** HTML below the text. */
  readonly form?: string
  readonly refreshSeconds?: number | undefined
}

export function page({ title, text, code, form = '', refreshSeconds }: PageText): string {
  const refresh = refreshSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${refreshSeconds}">`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${refresh}
<title>${escapeHtml(title)}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}code{opacity:.7}input,button{font:inherit;padding:.4rem .6rem}</style>
</head><body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>${form}${code === undefined ? '' : `<p><code>${escapeHtml(code)}</code></p>`}</main></body></html>
`
}

export function escapeHtml(text: string): string {
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
