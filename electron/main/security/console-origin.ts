import { type InvokeEvent } from '../electron-slice.ts'

export const CONSOLE_SCHEME = 'berth'
/** The only origin whose top frames may use the bridge and the manager's API. */
export const CONSOLE_ORIGIN = `${CONSOLE_SCHEME}://console`
/** Origin of the windows that ask a question before there is a connection (`network/proxy-question.ts`): no bridge, no API. */
export const QUESTION_ORIGIN = `${CONSOLE_SCHEME}://question`
export const isQuestionUrl = (text: string) => text.startsWith(`${QUESTION_ORIGIN}/`)

/** Compares scheme and host: `URL.origin` of a scheme unknown to Node is the text `null`. */
export function isConsoleUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === `${CONSOLE_SCHEME}:` && url.host === 'console' && url.username === '' && url.password === ''
}

/** Accepts a call only from the top frame of our own page: no frame inside it, no other page, no frame that is gone. */
export function isTrusted({ senderFrame }: Pick<InvokeEvent, 'senderFrame'>): boolean {
  return senderFrame !== null && senderFrame.parent === null && isConsoleUrl(senderFrame.url)
}
