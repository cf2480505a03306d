import { type Backups, type SetUp } from '#manager/contract'
import { type Certificates } from '../certificates/certificates.ts'
import { type Settings } from '../settings/settings.ts'

export interface SetUpDeps {
  readonly settings: Pick<Settings, 'read'>
  readonly backups: { list(): Promise<Pick<Backups, 'nextAt' | 'last'>> }
  readonly certificates: Pick<Certificates, 'list'>
  /** Whether an address for apps is configured. */
  readonly appsAddress: boolean
}

/** Checks which one-time set-up steps an administrator has done, for the checklist of the overview. */
export async function readSetUp({ settings, backups, certificates, appsAddress }: SetUpDeps): Promise<SetUp> {
  const [{ mailReady, publicUrl }, { nextAt, last }, items] = await Promise.all([
    settings.read(),
    backups.list(),
    certificates.list(),
  ])
  return {
    settings: { mailReady, publicUrl },
    backups: { nextAt, last },
    certificates: items.map(({ state }) => ({ state })),
    appsAddress,
  }
}
