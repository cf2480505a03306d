import { InvalidArgumentError } from 'commander'
import { Priority, type Session, SLOTS, type WhatIf } from '#manager/contract'
import { bytes } from './text.ts'
import { networkText } from './network-flags.ts'

/** Output of `berth session create --dry-run`. */
export function whatIfText({ startsNow, reason, smaller, notices }: WhatIf): string {
  const lines = notices.map(notice => notice.message)
  if (startsNow) return [...lines, 'The session would start now.'].join('\n')
  if (reason) {
    lines.push(`The session would wait: ${reason.message}`)
    if (reason.notBefore === undefined)
      lines.push(
        reason.expectedBy
          ? `The session would start at ${reason.expectedBy} at the latest.`
          : 'The time of its start is unknown.',
      )
  }
  for (const { slot, amount } of smaller) {
    const text = slot === 'mem' ? bytes(Number(amount)) : amount
    lines.push(`With ${text} ${SLOTS[slot].label} the session would start now.`)
  }
  return lines.join('\n')
}

/** Latest start of a waiting session, or `unknown`: the time is shown only if it is certain, never estimated. */
export function startText({ reason }: Session): string {
  if (reason.notBefore) return `at ${reason.notBefore} or later`
  return reason.expectedBy ? `at ${reason.expectedBy} at the latest` : 'unknown'
}

/** Rows of `berth session show` that only some sessions have. */
export function clusterRows({ clusterSize, kernels, priority, dependsOn, ...session }: Session): string[][] {
  return [
    ...(clusterSize > 1
      ? [
          ['kernels', kernels.map(kernel => `${kernel.role} ${kernel.status}${exitText(kernel.exitCode)}`).join(', ')],
          ...hostsRow(kernels),
        ]
      : []),
    ...(priority === 0 ? [] : [['priority', String(priority)]]),
    ...(session.network.mode === 'full' ? [] : [['network', networkText(session.network)]]),
    ...(session.interruptible ? [['interruptible', interruptedText(session)]] : []),
    ...(dependsOn.length === 0 ? [] : [['depends on', dependsOn.join(', ')]]),
  ]
}

/** The host of each kernel, where they are on several. */
function hostsRow(kernels: Session['kernels']): string[][] {
  if (new Set(kernels.map(({ agentId }) => agentId)).size < 2) return []
  return [['hosts', kernels.map(({ role, agentName }) => `${role} on ${agentName ?? 'no host'}`).join(', ')]]
}

function interruptedText({ interruptions, interruptAt }: Pick<Session, 'interruptions' | 'interruptAt'>): string {
  if (interruptAt !== null) return `yes; makes room at ${interruptAt}, and continues later`
  return interruptions === 0
    ? 'yes'
    : `yes; interrupted ${interruptions === 1 ? 'once' : `${interruptions} times`} so far`
}

const exitText = (code: number | null) => (code === null ? '' : ` (exit code ${code})`)

export function parsePriority(text: string): number {
  const priority = Priority.safeParse(text.trim() === '' ? undefined : Number(text))
  if (!priority.success) throw new InvalidArgumentError('The value must be a whole number from -10 to 10.')
  return priority.data
}

export function collect(text: string, all: readonly string[] = []): string[] {
  return [...all, text]
}
