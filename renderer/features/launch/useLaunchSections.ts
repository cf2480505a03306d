import { nextTick, reactive, ref, type Ref } from 'vue'
import { focusFault, type Fault } from './first-fault.ts'
import { sectionElement, sectionInView, sectionOf, SECTIONS, type SectionId } from './sections.ts'

/** State of the sections: which are open, which is visible, and functions to go to one. @param body of the form, once it is rendered */
export function useLaunchSections(body: Readonly<Ref<HTMLElement | null>>, first: readonly SectionId[]) {
  const open = reactive(
    Object.fromEntries(SECTIONS.map(({ id }) => [id, first.includes(id)])) as Record<SectionId, boolean>,
  )
  const inView = ref<SectionId>(SECTIONS[0].id)
  /** The section last reached by the outline or the focus: it takes precedence while it is on the screen. */
  let reached: SectionId | null = null
  const elementOf = (id: SectionId) => body.value?.querySelector<HTMLElement>(`#${sectionElement(id)}`)

  /** Opens a section, scrolls to it, and focuses its heading or its first field. */
  async function goTo(id: SectionId): Promise<void> {
    open[id] = true
    await nextTick()
    const element = elementOf(id)
    element?.scrollIntoView({ block: 'start' })
    element?.querySelector<HTMLElement>('button, input, textarea')?.focus({ preventScroll: true })
  }
  async function showFault(fault: Fault): Promise<void> {
    open[sectionOf(fault.field)] = true
    await nextTick()
    if (body.value) focusFault(fault, body.value)
  }
  function onFocus({ target }: FocusEvent): void {
    const id = SECTIONS.find(section => elementOf(section.id)?.contains(target as Node))?.id
    if (!id) return
    reached = id
    inView.value = id
  }
  function onScroll({ currentTarget }: Event): void {
    if (!(currentTarget instanceof HTMLElement)) return
    const { top, bottom } = currentTarget.getBoundingClientRect()
    const places = SECTIONS.flatMap(({ id }) => {
      const place = elementOf(id)?.getBoundingClientRect()
      return place ? [{ id, top: place.top - top }] : []
    })
    inView.value = sectionInView(places, { height: bottom - top, reached }) ?? inView.value
  }
  return { open, inView, goTo, showFault, onFocus, onScroll }
}
