/// <reference types="vite/client" />
/** Version of Berth that this page was built from (vite.config.ts). */
declare const __BERTH_VERSION__: string
declare module '*.vue' {
  import { type DefineComponent } from 'vue'
  const component: DefineComponent
  export default component
}
