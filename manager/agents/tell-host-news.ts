import { type HostNews } from './tell-faults.ts'
import { type TellDeps, tellSuperadmins } from '../mail/tell-superadmins.ts'
import { hostMail } from '../mail/texts.ts'

const LONGEST = 500

/** Informs every superadmin that no session can start on a host, or that sessions can start again. */
export async function tellHostNews(deps: TellDeps, { host, fault }: HostNews): Promise<void> {
  const isFault = fault !== null
  const text = isFault
    ? `No session can start on the host ${host}: ${fault.why}`.slice(0, LONGEST)
    : `Sessions can start on the host ${host} again.`
  await tellSuperadmins(deps, {
    about: isFault ? 'host_fault' : 'host_well',
    text,
    detail: host,
    mail: (to, publicUrl) => hostMail(to, { text, publicUrl, isFault }),
  })
}
