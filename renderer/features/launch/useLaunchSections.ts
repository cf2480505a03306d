import { nextTick, reactive, type Ref } from 'vue'
import { focusFault, type Fault } from './first-fault.ts'
import { sectionElement, sectionOf, SECTIONS, type SectionId } from './sections.ts'

/** Open sections of the form, and ways to reach them. @param body of the form, once it is rendered */
export function useLaunchSections(body: Readonly<Ref<HTMLElement | null>>, first: readonly SectionId[]) {
  const open = reactive(
    Object.fromEntries(SECTIONS.map(({ id }) => [id, first.includes(id)])) as Record<SectionId, boolean>,
  )

  /** Opens a section, scrolls to it, and focuses its heading or its first field. */
  async function goTo(id: SectionId): Promise<void> {
    open[id] = true
    await nextTick()
    const element = body.value?.querySelector<HTMLElement>(`#${sectionElement(id)}`)
    element?.scrollIntoView({ block: 'start' })
    element?.querySelector<HTMLElement>('button, input, textarea')?.focus({ preventScroll: true })
  }
  async function showFault(fault: Fault): Promise<void> {
    open[sectionOf(fault.field)] = true
    await nextTick()
    if (body.value) focusFault(fault, body.value)
  }
  return { open, goTo, showFault }
}
