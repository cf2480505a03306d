import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  KernelLabel,
  type KernelSpec,
  LABEL_KERNEL,
  LABEL_KERNEL_ID,
  LABEL_MANAGER,
  LABEL_SIGNATURE,
  LABEL_SLURM_JOB,
  LABEL_SLURM_START,
} from '#agent/contract'
import { parseJson } from '#base/parse-json'

/**
 * Labels of a session container. An image's own labels appear on its containers, and anyone who may use the engine can set
 * labels, so a label counts only with our HMAC-SHA256 over it. The key never leaves DATA/agent/label.key (0600). If the key is
 * lost, the manager names the containers that are ours.
 */
export function signKernelLabel(label: KernelLabel, key: Buffer): Record<string, string> {
  const text = JSON.stringify(label)
  return {
    [LABEL_KERNEL]: text,
    [LABEL_SIGNATURE]: signatureOf(text, key).toString('hex'),
    [LABEL_MANAGER]: label.managerId,
    [LABEL_KERNEL_ID]: label.kernelId,
  }
}

/** Labels by which the epilog of a Slurm node finds the containers of a job that ends. */
export function slurmLabels({ slurmJob }: Pick<KernelSpec, 'slurmJob'>): Record<string, string> {
  if (!slurmJob) return {}
  const { id, startedAt } = slurmJob
  return { [LABEL_SLURM_JOB]: id, ...(startedAt === null ? {} : { [LABEL_SLURM_START]: String(startedAt) }) }
}

/** Evidence by which a container is recognized as this agent's. */
export interface LabelTrust {
  readonly labelKey: Buffer
  /** Container ids that the manager has named. */
  readonly inherited: ReadonlySet<string>
}

/** @returns undefined for a container that this agent did not make, or whose labels were changed */
export function verifyKernelLabels(
  { id, labels }: { readonly id: string; readonly labels: Readonly<Record<string, string>> },
  { labelKey, inherited }: LabelTrust,
): KernelLabel | undefined {
  const text = labels[LABEL_KERNEL]
  const signature = labels[LABEL_SIGNATURE]
  if (text === undefined || !(inherited.has(id) || isSigned(text, signature, labelKey))) return undefined
  const label = KernelLabel.safeParse(parseJson(text))
  if (!label.success) return undefined
  // The unsigned labels exist for filters; they must agree with the signed one.
  if (labels[LABEL_MANAGER] !== label.data.managerId || labels[LABEL_KERNEL_ID] !== label.data.kernelId)
    return undefined
  return label.data
}

function isSigned(text: string, signature: string | undefined, key: Buffer): boolean {
  if (signature === undefined || !/^[0-9a-f]{64}$/.test(signature)) return false
  return timingSafeEqual(Buffer.from(signature, 'hex'), signatureOf(text, key))
}

function signatureOf(text: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(`berth.kernel.v1\n${text}`).digest()
}
