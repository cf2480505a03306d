import { z } from 'zod'

export const LoginId = z.uuid()

/** A sign-in of the caller, on one device. */
export const Login = z
  .object({
    id: LoginId,
    kind: z.enum(['browser', 'token']),
    label: z.string().nullable().describe('Browser and system, or the name that a client gave; a claim of the client.'),
    address: z.string().describe('Network address from which the sign-in was made.'),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().describe('To the minute.'),
    expiresAt: z.iso.datetime().describe('When the sign-in ends if it is not used again.'),
    accessKey: z.string().nullable().describe('Access key of a sign-in that was made with one.'),
    isThis: z.boolean().describe('Whether this request was made with it.'),
  })
  .meta({ id: 'Login' })
export type Login = z.infer<typeof Login>
