/** Components as tests of the page mount them; their own types are checked by `vue-tsc -p renderer`. */
declare module '*.vue' {
  import { type DefineComponent } from 'vue'
  const component: DefineComponent
  export default component
}
