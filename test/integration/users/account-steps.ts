import { AppError } from '#manager/contract'

/** The password of users that the fixtures add. */
export const PASSWORD = 'Their-own-pass-1'
/** The address of the console in the links of mails. */
export const CONSOLE = 'https://berth.example.org'

/** The secret in a link of a mail or of an administrator. */
export const tokenOf = (text: string | null) => /[?&](?:token|invitation)=([\w-]+)/.exec(text ?? '')?.[1] ?? ''

/** The code of the error of a call, or `ok`. */
export const codeOf = async (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )
