import { KernelLabel, type KernelReport } from '#agent/contract'

/** Ids and names of the images from which containers are being created. */
export function imagesInUse(reports: readonly KernelReport[]): Set<string> {
  const labels = reports.filter(({ state }) => state.state === 'starting').map(({ label }) => KernelLabel.parse(label))
  return new Set(labels.flatMap(({ image }) => [image.digest, image.reference]))
}

/** UUIDs of devices held by kernels, including kernels that have ended but are not removed yet. */
export function devicesInUse(reports: readonly KernelReport[]): Set<string> {
  return new Set(reports.flatMap(({ label }) => KernelLabel.parse(label).devices.map(({ uuid }) => uuid)))
}
