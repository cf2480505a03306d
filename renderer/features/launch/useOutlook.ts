import { computed } from 'vue'
import { type SessionSpec, type WhatIf } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'
import { outlookOfRefusal, type Outlook } from './outlook.ts'

/** Debounce time in milliseconds: long enough for a slider to stop. */
const REST_MS = 400

/**
 * Asks the manager what would happen to the request in the form, once the form has not changed for a moment.
 *
 * @param request the request, or null for a form with mistakes
 * @param revision changes when the answer may have changed although the request has not
 * @param read formats an answer; runs again when another part of the form changes the text
 */
export function useOutlook(
  request: () => SessionSpec | null,
  revision: () => unknown,
  read: (answer: WhatIf) => Outlook,
) {
  const { api } = useServices()
  const { value, loading } = useFetched({
    key() {
      const body = request()
      return body ? { body, revision: revision() } : undefined
    },
    async fetch({ body }, signal) {
      const about = JSON.stringify(body)
      return api.whatIf({ body, signal }).then(
        answer => ({ about, answer, refusal: null }),
        (error: unknown) => ({ about, answer: null, refusal: outlookOfRefusal(error) }),
      )
    },
    keeps: true,
    restMs: () => REST_MS,
  })
  /** Null without an answer to this exact request; the page then shows its own forecast. */
  const outlook = computed(() => {
    const said = value.value
    if (!said || said.about !== JSON.stringify(request())) return null
    return said.answer ? read(said.answer) : said.refusal
  })
  return { outlook, pending: loading }
}
