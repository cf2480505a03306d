import { type LaunchErrors, type LaunchField } from './launch-form.ts'

/** The parts of the form in the order of the page; the outline lists them. Titles are keys of the catalogue. */
export const SECTIONS = [
  // The app to open is chosen beside the launch button, but the environment determines the possible apps.
  { id: 'environment', title: 'environment', fields: ['image', 'opens'] },
  {
    id: 'resources',
    title: 'resources',
    fields: ['cpu', 'mem', 'shmem', 'gpu', 'gpuChoice', 'clusterSize', 'severalHosts'],
  },
  { id: 'folders', title: 'folders', fields: ['folders', 'automount'] },
  { id: 'name', title: 'nameAndProject', fields: ['name', 'count', 'project', 'resourceGroup', 'owner'] },
  { id: 'variables', title: 'variables', fields: ['environ'] },
  { id: 'network', title: 'networkSection', fields: ['network', 'allowedNames'] },
  {
    id: 'lifetime',
    title: 'howLong',
    fields: ['kind', 'startupCommand', 'runImageCommand', 'maxLifetime', 'idleTimeout', 'slurmTime', 'slurmValues'],
  },
  { id: 'start', title: 'whenStarts', fields: ['startsAt', 'dependsOn', 'priority', 'interruptible'] },
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

/**
 * The section that the reader is looking at.
 * @param places of the headings, in their order, in CSS pixels below the top of the visible part
 * @param reached the section that was chosen or has the focus: it takes precedence while its heading is visible
 */
export function sectionInView(
  places: readonly { readonly id: SectionId; readonly top: number }[],
  { height, reached }: { readonly height: number; readonly reached: SectionId | null },
): SectionId | undefined {
  const isVisible = ({ top }: { top: number }) => top >= -1 && top < height
  const chosen = places.find(place => place.id === reached && isVisible(place))
  return (chosen ?? places.findLast(({ top }) => top <= height / 3) ?? places[0])?.id
}

/** Id of a section's element, to which the outline scrolls. */
export const sectionElement = (id: SectionId) => `launch-section-${id}`
