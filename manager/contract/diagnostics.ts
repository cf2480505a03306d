import { z } from 'zod'
import { TextUpTo } from './plain-text.ts'
import { CleanLines } from './peer-text.ts'
import { cleanLine } from '#base/clean-text'
import { TextKeys } from './causes/fields.ts'
import { because } from './causes/causes.ts'
import { AppError } from './errors.ts'
import { parseJson } from '#base/parse-json'

/** Result of a check of `berth doctor`: a `problem` stops Berth or loses data, a `warning` does not. */
export const FINDING_LEVELS = ['ok', 'warning', 'problem'] as const

/** A manager or an agent has this long for its diagnosis; longer than the doctor there, so that its own report of a failure arrives. */
export const DIAGNOSIS_SECONDS = 40

/** Processes that have `berth doctor` run the checks about themselves only. */
export const DOCTOR_PARTS = ['manager', 'agent'] as const
export type DoctorPart = (typeof DOCTOR_PARTS)[number]

/** Agents send it too: `cleanDiagnosis` before it is shown. */
export const Diagnosis = z
  .object({
    level: z.enum(FINDING_LEVELS).describe('The worst level of all checks.'),
    checks: z
      .array(
        z.object({
          name: TextUpTo(100),
          level: z.enum(FINDING_LEVELS),
          says: TextUpTo(4_000),
          mend: TextUpTo(4_000).optional().describe('The next step; left out where all is well.'),
          nameBy: TextUpTo(100).optional().describe('Key of the name for translations.'),
          saysBy: TextKeys.optional(),
          mendBy: TextKeys.optional(),
        }),
      )
      .max(100),
  })
  .meta({ id: 'Diagnosis' })
export type Diagnosis = z.infer<typeof Diagnosis>

/**
 * Reads what `berth doctor --json` has printed. With problems found it ends with a code other than 0, and prints them all the same.
 *
 * @param failure why the program ended otherwise than with code 0; null if it did not
 * @throws AppError `internal` if it printed no result
 */
export function parseDiagnosis(printed: string, failure: Error | null): Diagnosis {
  const diagnosis = Diagnosis.safeParse(parseJson(printed))
  if (diagnosis.success) return diagnosis.data
  throw new AppError('internal', because('doctor_no_result'), { cause: failure })
}

/** Makes what another party sent safe to show. */
export const cleanDiagnosis = ({ level, checks }: Diagnosis): Diagnosis => ({
  level,
  checks: checks.map(({ mend, saysBy, mendBy, ...check }) => ({
    ...check,
    name: cleanLine(check.name),
    says: cleanLine(check.says, 4_000),
    ...(mend === undefined ? {} : { mend: cleanLine(mend, 4_000) }),
    ...(saysBy === undefined ? {} : { saysBy: cleanText(saysBy) }),
    ...(mendBy === undefined ? {} : { mendBy: cleanText(mendBy) }),
  })),
})

function cleanText({ values, more, ...text }: TextKeys): TextKeys {
  return {
    ...text,
    ...(values === undefined ? {} : { values: cleanValues(values) }),
    ...(more === undefined ? {} : { more: more.map(one => ({ ...one, values: cleanValues(one.values) })) }),
  }
}

const cleanValues = (values: TextKeys['values'] = {}) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? cleanLine(value, 4_000) : value]),
  )

/** Lines of its log that a process keeps in memory, for the bundle of the diagnostics. */
export const KEPT_LOG_LINES = 500
const LONGEST_LOG_LINE = 4_000
export const LogLines = z.array(CleanLines(LONGEST_LOG_LINE)).max(KEPT_LOG_LINES)

export interface RecentLines {
  add(line: string): void
  /** Oldest first. */
  list(): string[]
}

/** The last lines of a log, in memory only. */
export function createRecentLines(most = KEPT_LOG_LINES): RecentLines {
  const lines: string[] = []
  return {
    add(line) {
      lines.push(line.trimEnd().slice(0, LONGEST_LOG_LINE))
      if (lines.length > most) lines.shift()
    },
    list: () => [...lines],
  }
}
