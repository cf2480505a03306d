import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { parseSlots, type Image, type Resources } from '#manager/contract'
import { createPaced } from '../../api/paced.ts'
import { useServices } from '../../services.ts'

/** Milliseconds in which hints are gathered, because changes of sessions arrive in groups. */
const GATHER_MS = 250
const BUSY_MS = 2_000

/** Capacity and use of the cluster, and the images to launch. Kept current by event hints. */
export const useResources = defineStore('resources', () => {
  const { api, events } = useServices()
  const resources = ref<Resources | null>(null)
  const images = ref<Image[] | null>(null)
  const error = ref<unknown>(null)

  const capacity = computed(() => parseSlots(resources.value?.capacity ?? {}))
  const occupied = computed(() => parseSlots(resources.value?.occupied ?? {}))
  const largest = computed(() => parseSlots(resources.value?.largest ?? {}))
  const free = computed(() => parseSlots(resources.value?.free ?? {}))
  /** Amounts that limits leave; a slot that is not in it is not limited. */
  const left = computed(() => parseSlots(resources.value?.left ?? {}))

  /** @returns whether it succeeded */
  async function loadResources(): Promise<boolean> {
    try {
      resources.value = await api.getResources()
      error.value = null
      return true
    } catch (cause) {
      error.value = cause
      return false
    }
  }

  /** @returns whether it succeeded */
  async function loadImages(): Promise<boolean> {
    try {
      images.value = (await api.listImages()).items
      error.value = null
      return true
    } catch (cause) {
      error.value = cause
      return false
    }
  }

  async function load(): Promise<void> {
    await Promise.all([loadResources(), loadImages()])
  }

  // Only data that has been loaded before is kept current.
  const pace = { gatherMs: GATHER_MS, busyMs: BUSY_MS }
  const resourcesAgain = createPaced({ ...pace, run: async () => !resources.value || (await loadResources()) })
  const imagesAgain = createPaced({ ...pace, run: async () => !images.value || (await loadImages()) })
  events.onHint(({ topic }) => {
    if (topic === 'image') imagesAgain.ask()
    if (topic === 'resources' || topic === 'agent' || topic === 'session') resourcesAgain.ask()
  })
  events.onResync(() => {
    resourcesAgain.ask()
    imagesAgain.ask()
  })

  return { resources, images, error, capacity, occupied, largest, free, left, load }
})
