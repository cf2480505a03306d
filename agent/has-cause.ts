import { type AppError, type CauseKey } from '#manager/contract'

/** @returns whether an error has one of these causes */
export function hasCause(...causes: readonly CauseKey[]): (error: AppError) => boolean {
  const all: ReadonlySet<unknown> = new Set(causes)
  return ({ detail }) => all.has(detail['cause'])
}
