import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { type SessionSpec, type WhatIf } from '#manager/contract'
import { useServices } from '../../services.ts'
import { outlookOfRefusal, type Outlook } from './outlook.ts'

/** Long enough for a slider to come to rest. */
const REST_MS = 400

/**
 * Asks the manager what would happen to the request in the form, once it has been still for a moment.
 *
 * @param request what to ask about, or null for a form with mistakes
 * @param revision changes when the answer may have changed although the request has not
 * @param read turns an answer into words; again when something else in the form changes what they are
 */
export function useOutlook(
  request: () => SessionSpec | null,
  revision: () => unknown,
  read: (answer: WhatIf) => Outlook,
) {
  const { api } = useServices()
  const answer = shallowRef<WhatIf | null>(null)
  const refusal = shallowRef<Outlook | null>(null)
  /** Null while nothing is known: then the page's own forecast counts. */
  const outlook = computed(() => (answer.value ? read(answer.value) : refusal.value))
  const pending = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = 0

  async function ask(body: SessionSpec): Promise<void> {
    const turn = ++asked
    const [said, refused] = await api.whatIf({ body }).then(
      reply => [reply, null] as const,
      (error: unknown) => [null, outlookOfRefusal(error)] as const,
    )
    if (turn !== asked) return
    answer.value = said
    refusal.value = refused
    pending.value = false
  }

  function later(body: SessionSpec): void {
    asked += 1
    clearTimeout(timer)
    pending.value = true
    timer = setTimeout(() => void ask(body), REST_MS)
  }

  // Compared as text: a form that was filled with the same values again is no news.
  watch(
    () => JSON.stringify(request()),
    () => {
      const body = request()
      answer.value = null
      refusal.value = null
      if (body) {
        later(body)
        return
      }
      asked += 1
      clearTimeout(timer)
      pending.value = false
    },
    { immediate: true },
  )
  // What was said stays until there is something newer: the request is still the same.
  watch(revision, () => {
    const body = request()
    if (body) later(body)
  })
  onScopeDispose(() => {
    asked += 1
    clearTimeout(timer)
  })
  return { outlook, pending }
}
