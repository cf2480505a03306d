import { defineStore } from 'pinia'
import { ref } from 'vue'
import { offerRemedy } from '../../ui/error-remedy.ts'
import { t as shared } from '../../words/en/ui.ts'

/** Whether the page asks to prove that this browser runs on Berth's computer (`ThisComputerDialog`). */
export const useThisComputer = defineStore('this computer', () => {
  const isOpen = ref(false)
  const ask = () => void (isOpen.value = true)
  /** Every message that says what is missing has the button then. */
  const offer = () => offerRemedy('browser_unproven', () => ({ label: shared('thisComputer'), run: ask }))
  return { isOpen, ask, offer }
})
