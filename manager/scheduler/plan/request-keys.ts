import { needKey } from './gpu-need.ts'
import { type PendingSession } from './snapshot.ts'

/** Requests with the same key fit or fail equally. */
export function requestKey(session: PendingSession, useHeld: boolean): string {
  const { requested, gpu, clusterSize = 1, clusterMode = '', image, failedAgents } = session
  const { cpu, mem, 'cuda.device': devices, 'cuda.shares': shares } = requested
  return `${cpu}|${mem}|${devices}|${shares}|${needKey(gpu)}|${clusterSize}${clusterMode}|${useHeld}|${needsKey(session)}|${image}|${failedAgents.join()}`
}

/** Sessions with the same key can run on the same agents, as far as images, files and storages matter. */
export function needsKey({
  imageDigest,
  pullable = false,
  architecture = '',
  onlyOn,
  storage,
  restricted = false,
}: PendingSession): string {
  const key = `${imageDigest}|${pullable}|${architecture}|${onlyOn ?? ''}|${restricted}`
  return storage === undefined ? key : `${key}|${storage.map(({ marker }) => marker).join()}`
}
