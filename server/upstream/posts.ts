/** The clients of a provider whose addresses name the model: one for each address, kept. */
import type { Reach } from './reach.ts'
import type { Post } from './reply.ts'

/** Two per model of a large catalogue; beyond it clients are opened anew. */
const MAX_POSTS = 512

export function keepPosts({ open }: Pick<Reach, 'open'>): (address: string) => Post {
  const posts = new Map<string, Post>()
  return (address) => {
    const known = posts.get(address)
    if (known) return known
    if (posts.size >= MAX_POSTS) posts.clear()
    const post = open(address)
    posts.set(address, post)
    return post
  }
}
