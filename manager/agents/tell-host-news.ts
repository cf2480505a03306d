import { type HostNews } from './tell-faults.ts'
import { type TellDeps, tellSuperadmins } from '../mail/tell-superadmins.ts'
import { gpuMail, hostMail, updateMail } from '../mail/texts.ts'
import { writeHostEvent } from '../store/operation/webhook-events.ts'
import { detailOf } from './tell-gpu-faults.ts'

const LONGEST = 500

/** Informs every superadmin about a host: sessions cannot start there, or can again; a GPU has failed; or an update has failed. */
export async function tellHostNews(deps: TellDeps, { host, fault, gpu, isUpdate, isDue }: HostNews): Promise<void> {
  const isFault = fault !== null
  if (gpu !== undefined) {
    const text = `No session starts on a GPU of the host ${host}: ${gpu}. ${fault?.why ?? ''}`.slice(0, LONGEST)
    await tellSuperadmins(deps, {
      about: 'gpu_fault',
      text,
      detail: detailOf(host, gpu),
      mail: (to, publicUrl) => gpuMail(to, { text, publicUrl }),
      isDue,
      alongside: trx => writeHostEvent(trx, { event: 'host.problem', host, gpu, problem: text }),
    })
    return
  }
  if (isUpdate) {
    const text = `The update of the host ${host} failed, and no other host is updated: ${fault?.why ?? ''}`.slice(
      0,
      LONGEST,
    )
    const about = 'host_update'
    await tellSuperadmins(deps, {
      about,
      text,
      detail: host,
      alongside: trx => writeHostEvent(trx, { event: 'host.problem', host, problem: text }),
      mail: (to, publicUrl) => updateMail(to, { text, publicUrl }),
    })
    return
  }
  const text = isFault
    ? `No session can start on the host ${host}: ${fault.why}`.slice(0, LONGEST)
    : `Sessions can start on the host ${host} again.`
  await tellSuperadmins(deps, {
    about: isFault ? 'host_fault' : 'host_well',
    text,
    detail: host,
    alongside: trx =>
      writeHostEvent(trx, isFault ? { event: 'host.problem', host, problem: text } : { event: 'host.well', host }),
    mail: (to, publicUrl) => hostMail(to, { text, publicUrl, isFault }),
  })
}
