import { PUBLIC_OPEN_PATH, type WireError } from '#manager/contract'
import { escapeHtml, page, PAGE_HEADERS } from '../../http-origins/pages.ts'
import { type PublicAdmission } from './public-gate.ts'

type Refusal = Extract<PublicAdmission, { kind: 'refuse' }>['reason'] | 'ended' | 'key' | 'busy'

const REFUSALS: Record<Refusal, { readonly status: number; readonly title: string; readonly text: string }> = {
  wrong_host: {
    status: 404,
    title: 'Nothing is here',
    text: 'No app is published at this address.',
  },
  foreign_origin: {
    status: 403,
    title: 'Request from another site',
    text: 'Another web page tried to reach this app through your browser. Nothing was sent to the app.',
  },
  wrong_address: {
    status: 403,
    title: 'This app is not open to your network',
    text: 'The link works only from certain addresses. Ask the person who sent it.',
  },
  no_visit: {
    status: 403,
    title: 'Open this app with its link',
    text: 'This browser has not opened the link yet, or the visit has ended. Open the whole link again.',
  },
  worker: {
    status: 403,
    title: 'Service workers for the whole address are not allowed',
    text: 'A service worker for the whole address could read the links of this app. The app works without one.',
  },
  ended: {
    status: 404,
    title: 'This link has ended',
    text: 'The link expired or was withdrawn, or the app ended. Ask the person who sent it for a new one.',
  },
  key: {
    status: 403,
    title: 'This link is not complete',
    text: 'A part of the link is missing or wrong. Copy the whole link again.',
  },
  busy: {
    status: 503,
    title: 'Too many requests',
    text: 'Many people are opening links right now. Try again in a few seconds.',
  },
}

export interface PublicPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Visitors are nobody's guests at search engines. */
const HEADERS = { ...PAGE_HEADERS, 'x-robots-tag': 'noindex' }

export function publicRefusal(reason: Refusal): PublicPage {
  const { status, title, text } = REFUSALS[reason]
  return { status, headers: HEADERS, body: page({ title, text, code: reason }) }
}

/** Page for an app that does not answer. Visitors learn neither the session's name nor why. */
export function publicFailure({ code, retry }: WireError & { readonly retry: boolean }): string {
  const next = retry ? 'This page tries again every few seconds.' : 'Ask the person who sent you the link.'
  return page({ title: 'The app does not answer', text: next, code, refreshSeconds: retry ? 3 : undefined })
}

/** Asks for the password of a link. `fault`: why the last one was not taken. */
export function passwordPage({ title, key, fault }: { title: string; key: string; fault?: string }): PublicPage {
  const form = `<form method="post" action="${PUBLIC_OPEN_PATH}">
<input type="hidden" name="key" value="${escapeHtml(key)}">
<p><label for="password">Password</label><br>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus maxlength="1024"${fault === undefined ? '' : ' aria-invalid="true" aria-describedby="fault"'}></p>
${fault === undefined ? '' : `<p id="fault" role="alert">${escapeHtml(fault)}</p>\n`}<p><button type="submit">Open</button></p></form>`
  const body = page({ title: `${title} asks for a password`, text: 'The person who sent you the link knows it.', form })
  // With `no-referrer` the form would be sent with `Origin: null`; the key in the address goes nowhere either way.
  const headers = { ...HEADERS, 'referrer-policy': 'strict-origin' }
  return { status: fault === undefined ? 200 : 403, headers, body }
}
