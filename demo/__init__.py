"""The main job: sentence embeddings of all-MiniLM-L6-v2 with tensor-parallel MLPs on simulated ranks."""
