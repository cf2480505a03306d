import { type InvokeEvent } from '../electron-slice.ts'

export const CONSOLE_SCHEME = 'berth'
/** The only origin whose pages may use the bridge and the manager's API. */
export const CONSOLE_ORIGIN = `${CONSOLE_SCHEME}://console`
/** Origin of the windows that ask a question before there is a connection (`network/proxy-question.ts`): no bridge, no API. */
export const QUESTION_ORIGIN = `${CONSOLE_SCHEME}://question`
export const isQuestionUrl = (text: string) => text.startsWith(`${QUESTION_ORIGIN}/`)

/** Compares scheme and host: `URL.origin` of a scheme unknown to Node is the text `null`. */
export function isConsoleUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === `${CONSOLE_SCHEME}:` && url.host === 'console' && url.username === '' && url.password === ''
}

const PAGES: ReadonlySet<string> = new Set(['', '/', '/index.html'])

/**
 * Whether a document at this address is our page.
 *
 * Threat model: answers of the server have our origin. A hostile server, or another user's program at the port of one on this computer, can
 * answer with a page of its own, and name its address in a link. Shown in a window, its scripts would have the bridge, and the sign-in at
 * the server that is chosen next.
 */
export const isConsolePage = (text: string) => isConsoleUrl(text) && PAGES.has(URL.parse(text)?.pathname ?? '-')

/** Accepts a call only from the top frame of our own page: no frame inside it, no other page, no frame that is gone. */
export function isTrusted({ senderFrame }: Pick<InvokeEvent, 'senderFrame'>): boolean {
  return senderFrame !== null && senderFrame.parent === null && isConsolePage(senderFrame.url)
}
