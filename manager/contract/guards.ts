import { type SessionGpu } from './agents/agents.ts'
import { type EventHint, TOPICS } from './events.ts'
import { type SessionStats } from './sessions/sessions.ts'
import { isObject, isText } from '#base/shapes'

/**
 * Checks for the console's page, which does not include zod: zod would be a fifth of what a browser loads before the sign-in. Each guard
 * accepts what the schema of the same name accepts; `guards.test.ts` compares the two. Where a guard is looser, its comment says so.
 */

export function isEventHint(value: unknown): value is EventHint {
  if (!isObject(value)) return false
  const { topic, id, version } = value
  return (TOPICS as readonly unknown[]).includes(topic) && isText(id) && Number.isSafeInteger(version)
}

/** Checks by the name of their figure. A figure without a check does not compile. */
const FIGURES: Readonly<Record<Exclude<keyof SessionStats, 'at' | 'gpus'>, (value: unknown) => boolean>> = {
  cpuMilli: isNumber,
  cpuSeconds: value => value === undefined || isNumber(value),
  memBytes: isNumber,
  memPeakBytes: isNumber,
  netRxBytes: isNumber,
  netTxBytes: isNumber,
  diskReadBytes: isNumber,
  diskWriteBytes: isNumber,
  scratchBytes: isNumberOrNull,
}

/** Looser than the schema in one point: `at` is any text, because the page only shows it. */
export function isSessionStats(value: unknown): value is SessionStats {
  if (!isObject(value) || !isText(value['at']) || !Array.isArray(value['gpus'])) return false
  return Object.entries(FIGURES).every(([name, isRight]) => isRight(value[name])) && value['gpus'].every(isSessionGpu)
}

function isSessionGpu(value: unknown): value is SessionGpu {
  return isObject(value) && isText(value['uuid']) && isUse(value) && isDeviceUse(value['device'])
}

const isDeviceUse = (value: unknown) =>
  value === undefined || (isObject(value) && isUse(value) && isNumber(value['totalBytes']))

const isUse = (value: Record<string, unknown>) =>
  isNumberOrNull(value['utilization']) && isNumberOrNull(value['memBytes'])

function isNumber(value: unknown): boolean {
  return Number.isFinite(value)
}
function isNumberOrNull(value: unknown): boolean {
  return value === null || isNumber(value)
}
