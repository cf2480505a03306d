import { type Agent, type Backups, type ConsoleCertificate, type SystemSettings } from '#manager/contract'

/** What a fresh installation may lack, in the order in which it matters. */
export const CHECKS = ['agent', 'secondAdmin', 'https', 'certificate', 'mail', 'backup', 'backupFailed', 'gpu'] as const
export type Check = (typeof CHECKS)[number]

/** Where each is set up. */
export const CHECK_PAGES: Readonly<Record<Check, string>> = {
  agent: '/admin/agents',
  secondAdmin: '/admin/users?role=superadmin',
  https: '/admin/settings',
  certificate: '/admin/diagnostics',
  mail: '/admin/settings',
  backup: '/admin/maintenance',
  backupFailed: '/admin/maintenance',
  gpu: '/admin/agents',
}

/** The checks that are not met. */
export function missingChecks(facts: {
  readonly agents: readonly Agent[]
  readonly superadmins: number
  readonly settings: Pick<SystemSettings, 'mailReady' | 'publicUrl'>
  readonly backups: Pick<Backups, 'nextAt' | 'last'>
  readonly certificates: readonly Pick<ConsoleCertificate, 'state'>[]
}): readonly Check[] {
  const { agents, superadmins, settings, backups, certificates } = facts
  const connected = agents.filter(({ status }) => status === 'CONNECTED')
  const met: Readonly<Record<Check, boolean>> = {
    agent: connected.length > 0,
    secondAdmin: superadmins > 1,
    https: settings.publicUrl?.startsWith('https://') ?? false,
    certificate: certificates.every(({ state }) => state === 'good'),
    mail: settings.mailReady,
    backup: backups.nextAt !== null,
    backupFailed: backups.last?.outcome !== 'failed',
    gpu: connected.some(({ devices }) => devices.length > 0),
  }
  return CHECKS.filter(check => !met[check])
}
