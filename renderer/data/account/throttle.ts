import { type AppError } from '#manager/contract'

/** Milliseconds that a throttled caller has to wait, from the detail of the error; 30 s if the server does not say. */
export function retryAfterMs(error: AppError): number {
  const { retryAfterMs: milliseconds, retryAfterSeconds: seconds } = error.detail
  if (typeof milliseconds === 'number') return milliseconds
  return typeof seconds === 'number' ? seconds * 1000 : 30_000
}
