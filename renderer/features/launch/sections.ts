import { type LaunchErrors, type LaunchField } from './launch-form.ts'

/** The parts of the form in their order on the page; the outline beside it lists them. Titles are keys of the catalogue. */
export const SECTIONS = [
  { id: 'name', title: 'nameAndProject', fields: ['name', 'count', 'project', 'resourceGroup', 'owner'] },
  { id: 'environment', title: 'environment', fields: ['image'] },
  { id: 'variables', title: 'variables', fields: ['environ'] },
  { id: 'folders', title: 'folders', fields: ['folders', 'automount'] },
  { id: 'resources', title: 'resources', fields: ['cpu', 'mem', 'shmem', 'gpu', 'clusterSize'] },
  {
    id: 'lifetime',
    title: 'howLong',
    fields: ['kind', 'startupCommand', 'runImageCommand', 'maxLifetime', 'idleTimeout'],
  },
  { id: 'start', title: 'whenStarts', fields: ['startsAt', 'dependsOn', 'priority', 'interruptible', 'opens'] },
] as const satisfies readonly { id: string; title: string; fields: readonly LaunchField[] }[]

export type SectionId = (typeof SECTIONS)[number]['id']

export function sectionOf(field: LaunchField): SectionId {
  const section = SECTIONS.find(({ fields }) => (fields as readonly LaunchField[]).includes(field))
  return section?.id ?? 'name'
}

/** The sections that hold a fault. */
export function faultySections(errors: LaunchErrors): ReadonlySet<SectionId> {
  const faulty = Object.entries(errors).filter(([, message]) => message)
  return new Set(faulty.map(([field]) => sectionOf(field as LaunchField)))
}

/** Id of the element of a section, which the outline scrolls to. */
export const sectionElement = (id: SectionId) => `launch-section-${id}`
