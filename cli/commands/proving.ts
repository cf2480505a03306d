import { isAppError, type KeypairAcceptance } from '#manager/contract'
import { promptSecret } from '../secret-input.ts'

/** Makes a request; in a terminal, asks for the password where the sign-in is too old, and for the code of a second factor. */
export async function proving<T>(request: (proof: KeypairAcceptance) => Promise<T>): Promise<T> {
  const asked = (code: string) => (error: unknown) => {
    if (!isAppError(error) || error.code !== code || !process.stdin.isTTY) throw error
    if (error.detail.cause === 'prove_by_sign_in') throw error
  }
  const first = await request({}).catch(asked('proof_required'))
  if (first !== undefined) return first
  const password = await promptSecret('Your password: ')
  const second = await request({ password }).catch(asked('totp_required'))
  return second ?? request({ password, totp: await promptSecret('Code from your authenticator app: ') })
}
