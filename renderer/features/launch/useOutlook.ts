import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { type SessionSpec, type WhatIf } from '#manager/contract'
import { useServices } from '../../services.ts'
import { outlookOfRefusal, type Outlook } from './outlook.ts'

/** Debounce time in milliseconds: long enough for a slider to come to rest. */
const REST_MS = 400

/**
 * Asks the manager what would happen to the request in the form, once the form has not changed for a moment.
 *
 * @param request the request to ask about, or null for a form with mistakes
 * @param revision changes when the answer may have changed although the request has not
 * @param read turns an answer into words; runs again when another part of the form changes the words
 */
export function useOutlook(
  request: () => SessionSpec | null,
  revision: () => unknown,
  read: (answer: WhatIf) => Outlook,
) {
  const { api } = useServices()
  const answer = shallowRef<WhatIf | null>(null)
  const refusal = shallowRef<Outlook | null>(null)
  /** Null without an answer: the page then shows its own forecast. */
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

  // Compare as text: filling the form with the same values again is no change.
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
  // Keep the last answer until a newer one arrives: the request is still the same.
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
