import { type AppError } from '#manager/contract'

/** How long a throttled caller has to wait, from the detail of the error; a default where the server does not say. */
export function retryAfterMs(error: AppError): number {
  const { retryAfterMs: milliseconds, retryAfterSeconds: seconds } = error.detail
  if (typeof milliseconds === 'number') return milliseconds
  return typeof seconds === 'number' ? seconds * 1000 : 30_000
}
