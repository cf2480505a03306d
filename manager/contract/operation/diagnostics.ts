import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { CleanLines } from '../peer-text.ts'
import { cleanLine } from '#base/clean-text'
import { TextKeys } from '../causes/fields.ts'
import { because } from '../causes/causes.ts'
import { AppError } from '../errors.ts'
import { parseJson } from '#base/parse-json'

/** Result of a check of `berth doctor`: a `problem` stops Berth or loses data, a `warning` does not. */
export const FINDING_LEVELS = ['ok', 'warning', 'problem'] as const

/**
 * Time limit for the diagnosis of a manager or an agent; longer than that of the doctor there, so that its own report of a failure arrives.
 */
export const DIAGNOSIS_SECONDS = 40

/** Processes for which `berth doctor` runs only their own checks. */
export const DOCTOR_PARTS = ['manager', 'agent'] as const
export type DoctorPart = (typeof DOCTOR_PARTS)[number]

/** A diagnosis. Agents send it too, so pass it to `cleanDiagnosis` before it is shown. */
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
 * Parses the output of `berth doctor --json`. If it finds problems, it exits with a code other than 0, but still prints them.
 *
 * @param failure error if the program did not exit with code 0, else null
 * @throws AppError `internal` if it printed no result
 */
export function parseDiagnosis(printed: string, failure: Error | null): Diagnosis {
  const diagnosis = Diagnosis.safeParse(parseJson(printed))
  if (diagnosis.success) return diagnosis.data
  throw new AppError('internal', because('doctor_no_result'), { cause: failure })
}

/** Makes a diagnosis from another party safe to show. */
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

/** Number of log lines that a process keeps in memory, for the diagnostics bundle. */
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
