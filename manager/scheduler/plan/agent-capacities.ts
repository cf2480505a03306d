import { addSlots, type ResourceSlots } from '#manager/contract'
import { FreeCapacity } from './free-capacity.ts'
import { mayGive } from './gpu-need.ts'
import {
  type AgentSnapshot,
  type GroupSnapshot,
  type Occupant,
  type PendingSession,
  type Reservation,
} from './snapshot.ts'

/** The free capacities of one agent: now, before this pass, and as if nothing ran there. */
export class AgentCapacities {
  readonly agent: AgentSnapshot
  readonly now: FreeCapacity
  readonly placed: Occupant[] = []
  readonly #options: GroupSnapshot['options']
  #before: FreeCapacity | undefined
  #empty: FreeCapacity | undefined

  constructor(agent: AgentSnapshot, options: GroupSnapshot['options']) {
    this.agent = agent
    this.#options = options
    this.now = new FreeCapacity(agent, 'now', options)
  }

  /** The agent including the sessions that this pass has placed here. */
  get agentNow(): AgentSnapshot {
    if (this.placed.length === 0) return this.agent
    const { occupants = [], occupied, devices } = this.agent
    const given = this.placed.flatMap(occupant => occupant.devices)
    const on = (uuid: string) => given.reduce((sum, device) => sum + (device.uuid === uuid ? device.amount : 0), 0)
    return {
      ...this.agent,
      occupants: [...occupants, ...this.placed],
      occupied: this.placed.reduce<ResourceSlots>((sum, { slots }) => addSlots(sum, slots), occupied),
      devices: devices.map(device => ({ ...device, occupied: device.occupied + on(device.uuid) })),
    }
  }

  get before(): FreeCapacity {
    return (this.#before ??= new FreeCapacity(this.agent, 'now', this.#options))
  }

  get empty(): FreeCapacity {
    return (this.#empty ??= new FreeCapacity(this.agent, 'empty', this.#options))
  }
}

/** Whether all kernels of the session fit into the free capacity. */
export const fits = (freeCapacity: FreeCapacity, { requested, clusterSize, gpu }: PendingSession, useHeld = false) =>
  freeCapacity.fits(requested, useHeld, clusterSize, gpu)

/** Whether the agent could still hold the session when empty, and still has the reserved devices. */
export function stillThere(
  { devices }: Pick<Reservation, 'devices'>,
  { agent, empty }: AgentCapacities,
  session: PendingSession,
): boolean {
  const usable = agent.devices.filter(({ kind }) => mayGive(session.gpu, kind))
  const known = new Set(usable.map(device => `${device.slot} ${device.uuid}`))
  return fits(empty, session) && devices.every(({ slot, uuid }) => known.has(`${slot} ${uuid}`))
}
