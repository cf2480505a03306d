import { type InvokeEvent } from '../electron-slice.ts'

export const CONSOLE_SCHEME = 'berth'
/** The one origin whose top frames may use the bridge and the manager's API. */
export const CONSOLE_ORIGIN = `${CONSOLE_SCHEME}://console`

/** By scheme and host: `URL.origin` of a scheme that Node does not know is the text `null`. */
export function isConsoleUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === `${CONSOLE_SCHEME}:` && url.host === 'console' && url.username === '' && url.password === ''
}

/** A call counts only from the top frame of our own page: no frame inside it, no other page, no frame that is gone. */
export function isTrusted({ senderFrame }: Pick<InvokeEvent, 'senderFrame'>): boolean {
  return senderFrame !== null && senderFrame.parent === null && isConsoleUrl(senderFrame.url)
}
