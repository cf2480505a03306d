import { type Device, type SessionStats } from '#manager/contract'

export type GpuFigures = SessionStats['gpus'][number]

/** A way to find GPUs. One that finds none is absent, not broken. */
export interface GpuPlugin {
  readonly name: Device['plugin']
  discover(): Promise<readonly Device[]>
  /** Use of all its devices now; those that cannot be measured are left out. */
  figures(): Promise<readonly GpuFigures[]>
}
