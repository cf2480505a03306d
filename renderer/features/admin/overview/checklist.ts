import { type SetUp } from '#manager/contract'

/** Parts that a fresh installation may lack, in the order in which they matter. */
export const CHECKS = [
  'agent',
  'secondAdmin',
  'https',
  'certificate',
  'apps',
  'appsAnswer',
  'mail',
  'backup',
  'backupFailed',
  'gpu',
] as const
export type Check = (typeof CHECKS)[number]

/** Where each part is set up: the dialog, if there is one. */
export const CHECK_PAGES: Readonly<Record<Check, string>> = {
  agent: '/admin/agents?dialog=join',
  secondAdmin: '/admin/users?role=superadmin&dialog=invite',
  https: '/admin/settings?dialog=mail',
  certificate: '/admin/about',
  apps: '/admin/about',
  appsAnswer: '/admin/about',
  mail: '/admin/settings?dialog=mail',
  backup: '/admin/maintenance?dialog=backup',
  backupFailed: '/admin/maintenance',
  gpu: '/admin/agents',
}

/** The checks that are not met. @param facts with the number of connected agents, of their GPUs and of active superadmins */
export function missingChecks(
  facts: SetUp & {
    readonly connected: number
    readonly gpus: number
    readonly superadmins: number
    /** True if the console has called the address of apps and found a fault. */
    readonly appsFault: boolean
  },
): readonly Check[] {
  const { connected, gpus, superadmins, settings, backups, certificates, appsAddress, appsFault } = facts
  const met: Readonly<Record<Check, boolean>> = {
    agent: connected > 0,
    secondAdmin: superadmins > 1,
    https: settings.publicUrl?.startsWith('https://') ?? false,
    certificate: certificates.every(({ state }) => state === 'good'),
    // Without an address of the console, nobody connects from another computer.
    apps: appsAddress || settings.publicUrl === null,
    appsAnswer: !appsFault,
    mail: settings.mailReady,
    backup: backups.nextAt !== null,
    backupFailed: backups.last?.outcome !== 'failed',
    gpu: gpus > 0,
  }
  return CHECKS.filter(check => !met[check])
}
