import { type CauseKey, type DoctorPart } from '#manager/contract'
import { type Check, type Finding } from './check.ts'
import { CHECKS } from './checks/index.ts'
import { type Facts } from './facts.ts'

export interface Diagnosis {
  /** The worst level of all checks. */
  readonly level: Finding['level']
  readonly checks: readonly ({ readonly name: string; readonly nameBy?: CauseKey } & Finding)[]
}

const SEVERITY = { ok: 0, warning: 1, problem: 2 } as const
const MARK = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const

/** Checks about this process only; without a process, all of them. */
export const checksOf = (part: DoctorPart | undefined): readonly Check[] =>
  part === undefined ? CHECKS : CHECKS.filter(check => check.of?.includes(part))

/** Judges the facts. Checks that do not apply are left out. */
export function diagnose(facts: Facts, checks: readonly Check[] = CHECKS): Diagnosis {
  const found = checks.flatMap(check => {
    const finding = check.run(facts)
    if (!finding) return []
    const { name } = check
    return [check.of ? { name, nameBy: check.nameBy, ...finding } : { name, ...finding }]
  })
  const level = found.reduce<Finding['level']>(
    (worst, { level }) => (SEVERITY[level] > SEVERITY[worst] ? level : worst),
    'ok',
  )
  return { level, checks: found }
}

/** A diagnosis of this computer, or one that came from another. */
interface Described {
  readonly level: Finding['level']
  readonly checks: readonly { name: string; level: Finding['level']; says: string; mend?: string | undefined }[]
}

/** Formats each check as one line, followed by how to fix the problem. */
export function describeDiagnosis({ level, checks }: Described): string {
  const lines = checks.flatMap(check => [
    `${MARK[check.level]}  ${check.name}: ${check.says}`,
    ...(check.level === 'ok' || !('mend' in check) ? [] : [`         → ${check.mend}`]),
  ])
  const end = {
    ok: 'No problems found.',
    warning: 'Berth will work, but see the warnings.',
    problem: 'Fix the problems first.',
  }
  return [...lines, '', end[level]].join('\n')
}
