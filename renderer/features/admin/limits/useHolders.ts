import { computed, type Ref, ref, shallowRef, watch } from 'vue'
import { useFetched } from '../../../data/fetched.ts'
import { useServices } from '../../../services.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { useFound } from '../useFound.ts'
import { WEIGHT_HOLDERS } from './weight-holders.ts'

/**
 * Rows of a form about users or projects, by id: they are shown by name, chosen from a search, and removed.
 *
 * @param of decides where names are looked up
 * @param model value of each user or project, by id
 * @param first value of one that is added
 */
export function useHolders<T>(of: keyof typeof WEIGHT_HOLDERS, model: Ref<Readonly<Record<string, T>>>, first: T) {
  const { api } = useServices()
  const notifications = useNotifications()
  const directory = WEIGHT_HOLDERS[of]
  const { search, found } = useFound(
    (text, signal) => directory.find(api, text, signal),
    cause => notifications.error(cause),
  )
  const chosen = ref<string | null>(null)
  /** Names of the initial rows, by id. Deleted users and projects are shown by their id. */
  const { value: known } = useFetched({
    async fetch(_, signal) {
      const named = async (id: string) => [id, (await directory.nameOf(api, id, signal)) ?? id] as const
      return new Map(await Promise.all(Object.keys(model.value).map(named)))
    },
  })
  /** Names of users or projects that were added since. */
  const names = shallowRef(new Map<string, string>())
  const nameOf = (id: string) => names.value.get(id) ?? known.value?.get(id) ?? id
  const rows = computed(() => Object.entries(model.value).toSorted(([a], [b]) => nameOf(a).localeCompare(nameOf(b))))
  const choices = computed(() =>
    found.value.filter(({ id }) => !(id in model.value)).map(({ id, name }) => ({ value: id, title: name })),
  )
  const set = (id: string, value: T) => {
    model.value = { ...model.value, [id]: value }
  }
  function remove(id: string): void {
    model.value = Object.fromEntries(Object.entries(model.value).filter(([other]) => other !== id))
  }
  watch(chosen, id => {
    const holder = found.value.find(one => one.id === id)
    if (!holder) return
    names.value = new Map([...names.value, [holder.id, holder.name]])
    set(holder.id, first)
    chosen.value = null
    search.value = ''
  })
  return { rows, nameOf, set, remove, choices, chosen, search }
}
