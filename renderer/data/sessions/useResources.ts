import { defineStore } from 'pinia'
import { computed } from 'vue'
import { parseSlots } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useFetched } from '../fetched.ts'

/** Capacity and use of the cluster, and the images to launch. Kept current by event hints once they are loaded. */
export const useResources = defineStore('resources', () => {
  const { api } = useServices()
  const figures = useFetched({
    fetch: (_, signal) => api.getResources({ signal }),
    topics: ['resources', 'agent', 'session'],
    atOnce: false,
  })
  const launchable = useFetched({
    fetch: async (_, signal) => (await api.listImages({ signal })).items,
    topics: ['image'],
    atOnce: false,
  })
  const resources = figures.value
  const error = computed(() => figures.error.value ?? launchable.error.value)

  const capacity = computed(() => parseSlots(resources.value?.capacity ?? {}))
  const occupied = computed(() => parseSlots(resources.value?.occupied ?? {}))
  const largest = computed(() => parseSlots(resources.value?.largest ?? {}))
  const free = computed(() => parseSlots(resources.value?.free ?? {}))
  /** Amounts that limits still allow; a slot that is missing here is not limited. */
  const left = computed(() => parseSlots(resources.value?.left ?? {}))

  const load = async () => void (await Promise.all([figures.again(), launchable.again()]))
  return { resources, images: launchable.value, error, capacity, occupied, largest, free, left, load }
})
