import { defineStore } from 'pinia'
import { ref } from 'vue'
import { offerRemedy } from '../../ui/error-remedy.ts'
import { t as shared } from '../../words/en/ui.ts'

/** Whether the dialog is open that asks for a proof that this browser runs on Berth's computer (`ThisComputerDialog`). */
export const useThisComputer = defineStore('this computer', () => {
  const isOpen = ref(false)
  const ask = () => void (isOpen.value = true)
  /** Gives the button to every message about the missing proof. */
  const offer = () => offerRemedy('browser_unproven', () => ({ label: shared('thisComputer'), run: ask }))
  return { isOpen, ask, offer }
})
